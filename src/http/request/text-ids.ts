import type { IncomingMessage } from 'node:http'
import { type MediaType, readMediaTypes, readQuality, withTagOf } from './head.ts'

/**
 * The parameter of a media type that says of 64-bit numbers that they are texts (OData JSON Format 4.01 section 3.2). At
 * Accept it asks for the ids of an answer as texts; at Content-Type it allows them in a body.
 */
const TEXT_IDS = 'IEEE754Compatible'
/** What a media type of an answer with such ids ends with. */
export const WITH_TEXT_IDS = `;${TEXT_IDS}=true`
export const TEXT_IDS_FAULT = `${TEXT_IDS} must be true or false`
const HAS_TEXT_IDS = new RegExp(TEXT_IDS, 'i')

/** @returns undefined for another value than true or false */
export function hasTextIds({ parameters }: MediaType): boolean | undefined {
  const value = parameters.get(TEXT_IDS.toLowerCase())?.toLowerCase() ?? 'false'
  return value === 'true' ? true : value === 'false' ? false : undefined
}

/** Stands before a path of the contract, and carries the parameter for clients whose generators write other headers. */
export const TEXT_IDS_PATH = '/text-ids'
/** The pages and the protocol of agents have no such form. */
const BELOW_IT = new RegExp(`^((?i:https?)://[^/?]*)?${TEXT_IDS_PATH}(?=/(?!(?:page|docs|mcp)(?:[/?]|$)|[?]|$))`)
const TYPE_WITH_IDS =
  /(application\/(?:(?:x-)?(?:json|ndjson|jsonl|jsonlines)|merge-patch\+json)|text\/event-stream)(?![\w+-]|[^,]*IEEE754Compatible)/gi

/**
 * Takes TEXT_IDS_PATH off the target of a request, and puts the parameter into its headers.
 *
 * @returns undefined where the target does not have it
 */
export function takeTextPath(target: string, { headers }: IncomingMessage): string | undefined {
  if (!target.includes(TEXT_IDS_PATH) || !BELOW_IT.test(target)) return undefined
  const { accept = '*/*', 'content-type': type } = headers
  const marked = accept.replace(TYPE_WITH_IDS, `$1${WITH_TEXT_IDS}`)
  headers.accept = /(?:application|\*)\/\*/.test(accept) ? `application/json${WITH_TEXT_IDS}, ${marked}` : marked
  if (type !== undefined) headers['content-type'] = type.replace(TYPE_WITH_IDS, `$1${WITH_TEXT_IDS}`)
  return target.replace(BELOW_IT, '$1')
}

/** Whether a type in Accept has the parameter with a value that it does not have. */
export const hasUnknownIds = (accept: string): boolean =>
  HAS_TEXT_IDS.test(accept) && readMediaTypes(accept).some((range) => hasTextIds(range) === undefined)

/**
 * Whether Accept asks for the ids in an answer as texts.
 *
 * @param type the media type of the answer; where Accept does not name it, what it says of JSON decides
 */
export function asksForTextIds(accept: string | undefined, type: string): boolean {
  if (accept === undefined || !HAS_TEXT_IDS.test(accept)) return false
  const ranges = readMediaTypes(accept)
  const named = [type, 'application/json'].find((name) => ranges.some((range) => range.type === name))
  const qualityWith = (hasTexts: boolean): number => {
    const wanted = ranges.filter((range) => range.type === named && hasTextIds(range) === hasTexts)
    return Math.max(0, ...wanted.map(({ parameters }) => readQuality(parameters.get('q')) ?? 0))
  }
  return qualityWith(true) > 0 && qualityWith(true) >= qualityWith(false)
}

/** The members that have ids of plants. */
const ID_NAMES = ['id', 'next', 'first', 'last']
/** Such a member. A JSON string has no such text, because its quotation marks are escaped. */
const ID = new RegExp(`"(${ID_NAMES.join('|')})":(-?\\d+)`, 'g')

/** The same JSON, as the service writes it, with the ids of plants as texts: `"id":1` becomes `"id":"1"`. */
export const withTextIds = (json: string): string => json.replaceAll(ID, '"$1":"$2"')

/** The types of answers with ids of plants as numbers. CSV has texts alone. */
const TYPES: readonly string[] = ['application/json', 'application/x-ndjson', 'text/event-stream']

/**
 * Makes the headers of an answer those of its form with ids as texts, where its client asks for that form.
 *
 * @param type the media type of the answer; undefined: its Content-Type
 * @returns whether the client asks for it
 */
export function takeTextIds({ headers: { accept } }: IncomingMessage, headers: string[], type?: string): boolean {
  if (accept === undefined) return false
  const at = headers.indexOf('Content-Type') + 1
  const plain = type ?? (at > 0 ? (headers[at] ?? '') : '')
  if (!TYPES.includes(plain) || !asksForTextIds(accept, plain)) return false
  if (at > 0) headers[at] = plain + WITH_TEXT_IDS
  withTagOf(headers, 'text')
  return true
}

/** Writes ids as texts in pieces of whole lines. Streams share most pieces, so each is written once for all of them. */
export class TextPieces {
  readonly #written = new WeakMap<Buffer, Buffer>()

  async *write(pieces: AsyncGenerator<string | Buffer, void>): AsyncGenerator<string | Buffer, void> {
    for await (const piece of pieces) yield typeof piece === 'string' ? withTextIds(piece) : this.#of(piece)
  }

  #of(piece: Buffer): Buffer {
    const written = this.#written.get(piece) ?? Buffer.from(withTextIds(piece.toString()))
    this.#written.set(piece, written)
    return written
  }
}

/** Schemas by their members, and examples by theirs. */
type Members = Readonly<Record<string, unknown>>

const TEXT_ID = { type: 'string', pattern: '^(0|-?[1-9][0-9]{0,18})$' }

/**
 * The contract of the form with ids as texts: every int64 is a string, and bodies have media types with the parameter
 * for it. Refusals have no ids, and no such form.
 */
export function contractWithTextIds<Document extends object>(document: Document): Document {
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
