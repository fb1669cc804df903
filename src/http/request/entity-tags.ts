import { type Condition, type ETags, UNCONDITIONAL } from '../../condition.ts'
import type { OperationParameters } from '../operations.generated.ts'
import { CODINGS, type Coding } from './negotiation.ts'

/** What the operations that take preconditions have in common. */
export type Preconditions = Pick<OperationParameters['replacePlant'], 'If-Match' | 'If-None-Match'>

/** An entity tag with what may stand before it in a list, empty elements included (RFC 9110 sections 5.6.1, 8.8.3). */
const ELEMENT = /[ \t,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/gy
const REST = /^[ \t,]*$/

/** The value of If-Match or If-None-Match, weak tags with their `W/`; undefined where it is malformed. */
export function readEntityTags(text: string): ETags | undefined {
  if (text === '*') return '*'
  const elements = [...text.matchAll(ELEMENT)]
  const length = elements.reduce((sum, [element]) => sum + element.length, 0)
  if (elements.length === 0 || !REST.test(text.slice(length))) return undefined
  return elements.map(([, tag = '']) => tag)
}

/** The entity tag of what has this one, in a content coding. */
export const codedTag = (tag: string, coding: Coding): string => `${tag.slice(0, -1)}-${coding}"`

const CODED = new RegExp(`-(?:${CODINGS.join('|')})"$`)

/**
 * The condition in a request's parameters. If-Match compares strongly, so weak tags can't hold; If-None-Match compares
 * weakly, so `W/` does not count (RFC 9110 sections 13.1.1 and 13.1.2). In which content coding the client has got a
 * plant does not matter for what it wants to do with it.
 */
export function conditionOf(parameters: Preconditions): Condition {
  const { 'If-Match': ifMatch, 'If-None-Match': ifNoneMatch } = parameters
  if (ifMatch === undefined && ifNoneMatch === undefined) return UNCONDITIONAL
  return {
    ...(ifMatch === undefined ? {} : { ifMatch: strong(ifMatch) }),
    ...(ifNoneMatch === undefined ? {} : { ifNoneMatch: opaque(ifNoneMatch) }),
  }
}

/** Whether a client that sent If-None-Match has what this entity tag belongs to. */
export function isFresh(parameters: Preconditions, etag: string): boolean {
  const { ifNoneMatch } = conditionOf(parameters)
  return ifNoneMatch === '*' || (ifNoneMatch?.includes(etag) ?? false)
}

const strong = (tags: ETags): ETags =>
  tags === '*' ? tags : tags.filter((tag) => tag.startsWith('"')).map((tag) => tag.replace(CODED, '"'))
const opaque = (tags: ETags): ETags =>
  tags === '*' ? tags : tags.map((tag) => tag.replace(/^W\//, '').replace(CODED, '"'))
