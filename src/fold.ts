/**
 * The one place where case and accents are folded, for search and for sorting by name, so that every engine answers alike.
 *
 * Compatibility decomposition without its combining marks (Unicode Standard Annex 15), then the full case mapping upwards
 * and down (`ß` and `SS` both become `ss`), with the final sigma as any other.
 */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  // Down first: the capital sharp s has no upper case of its own, its small letter has.
  const cased = withoutMarks(text).toLowerCase().toUpperCase().toLowerCase()
  return withoutMarks(cased).replaceAll('ς', 'σ')
}

/** The words of a text, folded: runs of letters and digits; a pictograph is a word of its own. */
export function words(text: string): string[] {
  const folded = fold(text)
  return folded.match(isAscii(folded) ? ASCII_WORDS : WORDS) ?? []
}

/** How many characters (code points) of a folded name count for its place among others. */
export const SORT_KEY_LENGTH = 128

/**
 * What plants are sorted by when they are sorted by name: the start of the folded name. Keys are compared by code points,
 * plants with the same key by id. It is bounded because names are not: a cursor holds a key, and an index does.
 */
export function sortKey(name: string): string {
  const folded = fold(name.length <= FOLDED_LENGTH ? name : name.slice(0, FOLDED_LENGTH).replace(SPLIT_PAIR, ''))
  return folded.length <= SORT_KEY_LENGTH ? folded : Array.from(folded).slice(0, SORT_KEY_LENGTH).join('')
}

/** Less than 0, 0 or more than 0: the order of code points, which is also that of UTF-8 bytes. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** UTF-16 units of a name that its key is made from; the rest of a long name is spared the folding. */
const FOLDED_LENGTH = SORT_KEY_LENGTH * 4
const SPLIT_PAIR = /[\ud800-\udbff]$/
const ASCII_WORDS = /[a-z0-9]+/g
const WORDS = /[\p{L}\p{N}]+|\p{Extended_Pictographic}/gu
const MARKS = /\p{M}+/gu
const BEYOND_ASCII = /[\u0080-\uffff]/

const isAscii = (text: string): boolean => !BEYOND_ASCII.test(text)
const withoutMarks = (text: string): string => text.normalize('NFKD').replaceAll(MARKS, '')

/** Surrogates stand for characters beyond U+FFFF, so they go after U+E000 to U+FFFF. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
