import { AppError } from './errors.ts'

/**
 * What a token may see and change: 1 to MAX_TEXTS texts, each a tag, or, where it ends with `/`, all tags that begin so.
 * Plants without a tag are in no part. Undefined stands for the whole store.
 */
export type Part = readonly string[]

export const MAX_TEXTS = 20
const BEGINNING = '/'

/** Whether all tags of a text of a part are those of another text of a part, too. */
const has = (text: string, inner: string): boolean => text === inner || (isBeginning(text) && inner.startsWith(text))

/** Whether a text of a part stands for all tags that begin with it, and not only for the one that equals it. */
export const isBeginning = (text: string): boolean => text.endsWith(BEGINNING)

/** The one rule of parts: whether a plant with this tag is in one. */
export const covers = (part: Part | undefined, tag: string | undefined): boolean =>
  part === undefined || (tag !== undefined && part.some((text) => has(text, tag)))

/** Whether a part has all that another one has. */
export const includes = (part: Part | undefined, inner: Part | undefined): boolean =>
  part === undefined || inner?.every((text) => part.some((own) => has(own, text))) === true

/** The same part without texts that another one of it has already, in its order. */
export const simplified = (part: Part): Part => {
  const texts = [...new Set(part)]
  return texts.filter((text) => !texts.some((other) => other !== text && has(other, text)))
}

/** The refusal of a write that would put a plant outside of the part of its token. */
export const outside = (id: bigint): AppError =>
  new AppError(40303, `the plant ${id} would be outside of the part of the access token; nothing was changed`)
