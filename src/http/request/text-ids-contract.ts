import { withTextIds } from '../../json/text-ids.ts'
import { WITH_TEXT_IDS } from './head.ts'
import type { Document } from './operations.ts'

/** Schemas by their members, and examples by theirs. */
type Members = Readonly<Record<string, unknown>>

const TEXT_ID = { type: 'string', pattern: '^(0|-?[1-9][0-9]{0,18})$' }
const ID_NAMES = ['id', 'next', 'first', 'last']

/**
 * The contract of the form with ids as texts: every int64 is a string, and bodies have media types with the parameter
 * for it. Refusals have no ids, and no such form.
 */
export function contractWithTextIds(document: Document): Document {
  return JSON.parse(JSON.stringify(document, inTextForm)) as Document
}

function inTextForm(this: unknown, name: string, value: unknown): unknown {
  if (name === 'content') return withForm(value as Members)
  if (isInt64(value)) {
    const { format: _, ...rest } = value
    return { ...rest, ...TEXT_ID }
  }
  if (typeof value === 'string') return withTextIds(value)
  const isExample = ID_NAMES.includes(name) || (name === 'example' && isInt64((this as Members)['schema']))
  return isExample && typeof value === 'number' ? String(value) : value
}

const isInt64 = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && 'format' in value && value.format === 'int64'

const withForm = (content: Members): Members =>
  Object.fromEntries(
    Object.entries(content).map(([type, media]) => {
      const hasForm = HAS_IDS.test(type) && !JSON.stringify(media).includes(REFUSAL)
      return [hasForm ? type + WITH_TEXT_IDS : type, media]
    }),
  )

const HAS_IDS = /json$|^text\/event-stream$/
const REFUSAL = '"#/components/schemas/Error"'
