import { isFlag, LONGEST } from './column-names.ts'

/** What a cell looks like. A name is a genus with an epithet or a cultivar; a code is any other text with a digit. */
export type Look = 'number' | 'flag' | 'address' | 'name' | 'code' | 'text'

const ADDRESS = /@|^(?:https?:\/\/|www\.)/i
/** A number, price, date or measure. */
const NUMBER = /^[\p{Sc}\s.,:/%+~–-]*\d[\p{Sc}\s\d.,:/%+~–-]*(?:\p{L}{1,3}\.?)?$/u
const PLANT_NAME = /^[×x+]?\s?\p{Lu}\p{Ll}+(?:-\p{Ll}+)?\s+(?:[×x]\s?)?(?:\p{Ll}{2,}|['"‘’“‚„«»]\s?\p{L})/u

export function lookOf(cell: string): Look {
  const text = cell.trim()
  if (text.length > LONGEST) return 'text'
  if (ADDRESS.test(text)) return 'address'
  if (isFlag(text)) return 'flag'
  if (NUMBER.test(text)) return 'number'
  if (PLANT_NAME.test(text)) return 'name'
  return /\p{N}/u.test(text) ? 'code' : 'text'
}

/** A name in Latin by the endings of epithets, which words of other languages seldom have, and by its letters. */
const LATIN =
  /^(?:<(?:i|em|b)>)?[×x+]?\s?[A-Z][a-zA-Zëïöü]+(?:-[a-z]+)?\s+(?:[×x]\s?)?(?:[a-zëïöü-]*(?:a|us|um|is|i|ae|[ae]ns|oides)(?!\p{L})|['"‘’“‚„«»]\s?\p{L})/u

/** Words of a name with ranks, a cultivar and authors. Sentences in languages that are near to Latin have more. */
const MOST_WORDS = 12

/** Whether a text looks like a name in Latin, also in a list in capitals. */
export function looksLatin(text: string): boolean {
  const start = text.trim().slice(0, LONGEST).replaceAll('_', ' ')
  const name = /\p{Ll}/u.test(start) ? start : start.charAt(0) + start.slice(1).toLowerCase()
  return LATIN.test(name) && name.split(' ', MOST_WORDS + 1).length <= MOST_WORDS && !SENTENCE.test(name)
}

/** A text of two clauses at least, or of words up to a full stop, which abbreviations of ranks have as well. */
export const SENTENCE = /[.,;:!?] \p{Ll}+ \p{Ll}+|\p{Ll} \p{Ll}{6,}\.$/u

/** Rows in which one look, or one text, everywhere is no accident. */
export const SEVERAL = 3
