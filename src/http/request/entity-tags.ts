import { AppError } from '../../domain/errors.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { type Expectation, NO_EXPECTATION, type Versions, versionOf } from '../../domain/plant-version.ts'
import type { OperationParameters } from '../operations.generated.ts'
import { CODINGS, type Coding } from './negotiation.ts'

/** The value of If-Match or If-None-Match: entity tags in their quotes, weak ones with their `W/`. */
export type EntityTags = '*' | readonly string[]

/** The preconditions that operations take (RFC 9110 section 13.1). */
type Preconditions = Partial<Pick<OperationParameters['replacePlant'], 'If-Match' | 'If-None-Match'>>

/** Headers that a write must not ignore, because its client relies on them. */
export const PRECONDITIONS = ['If-Match', 'If-None-Match'] as const

/** An entity tag, with the blanks and empty elements before it in a list (RFC 9110 sections 5.6.1, 8.8.3). */
const ELEMENT = /[ \t,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/gy
const REST = /^[ \t,]*$/

/** Reads the value of If-Match or If-None-Match; undefined for a malformed one. */
export function readEntityTags(text: string): EntityTags | undefined {
  if (text === '*') return '*'
  const elements = [...text.matchAll(ELEMENT)]
  const length = elements.reduce((sum, [element]) => sum + element.length, 0)
  if (elements.length === 0 || !REST.test(text.slice(length))) return undefined
  return elements.map(([, tag = '']) => tag)
}

/** The strong entity tag (RFC 9110 section 8.8.3) of a plant. */
export const plantETag = (plant: NewPlant): string => `"${versionOf(plant)}"`

/** The entity tag of the representation in a content coding. */
export const codedTag = (tag: string, coding: Coding): string => `${tag.slice(0, -1)}-${coding}"`

/**
 * The expectation of a request's preconditions. If-Match compares strongly, so weak tags never match; If-None-Match
 * compares weakly, so `W/` does not count (RFC 9110 sections 13.1.1 and 13.1.2). The content coding of a tag does not
 * change the version of its plant.
 */
export function expectationOf({ 'If-Match': ifMatch, 'If-None-Match': ifNoneMatch }: Preconditions): Expectation {
  if (ifMatch === undefined && ifNoneMatch === undefined) return NO_EXPECTATION
  return {
    ...(ifMatch === undefined ? {} : { at: versionsIn(ifMatch === '*' ? ifMatch : ifMatch.filter(isStrong)) }),
    ...(ifNoneMatch === undefined ? {} : { notAt: versionsIn(ifNoneMatch) }),
  }
}

const isStrong = (tag: string): boolean => tag.startsWith('"')

const versionsIn = (tags: EntityTags): Versions => (tags === '*' ? 'any' : tags.map(versionIn))

const versionIn = (tag: string): string => tag.slice(tag.indexOf('"') + 1, -1).replace(CODING, '')

const CODING = new RegExp(`-(?:${CODINGS.join('|')})$`)

/** Whether If-None-Match says that the client has the representation with this entity tag. */
export const isFresh = (ifNoneMatch: EntityTags = [], etag: string): boolean =>
  ifNoneMatch === '*' || ifNoneMatch.map(versionIn).includes(versionIn(etag))

/** Adds the names of the request's preconditions to the store's refusal 41201. Leaves other errors as they are. */
export function namePreconditions(error: unknown, parameters: { readonly [Name in keyof Preconditions]?: unknown }) {
  if (!(error instanceof AppError) || error.number !== 41201) return error
  const names = PRECONDITIONS.filter((name) => parameters[name] !== undefined)
  return names.length === 0 ? error : new AppError(41201, `${error.message} (${names.join(', ')})`)
}
