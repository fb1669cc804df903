/**
 * Folds case and accents, for search and for sorting by name. Both engines use it, so they answer alike.
 *
 * Compatibility decomposition without its combining marks (Unicode Standard Annex 15), then the full case mapping
 * upwards and down (`ß` and `SS` both become `ss`), with the final sigma as any other.
 */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  // Down first: the capital sharp s has no upper case, its small letter has one.
  const cased = withoutMarks(text).toLowerCase().toUpperCase().toLowerCase()
  return withoutMarks(cased).replaceAll('ς', 'σ')
}

/** The words of a text, folded: runs of letters and digits; a pictograph is a word of its own. */
export function words(text: string): string[] {
  const folded = fold(text)
  return folded.match(isAscii(folded) ? ASCII_WORDS : WORDS) ?? []
}

/** Characters (code points) of a folded name by which plants are sorted. */
export const SORT_KEY_LENGTH = 128

/**
 * The key of the order by name: the start of the folded name. Keys are compared by code points, plants with the same
 * key by id. The length of a key is bounded, as cursors and indexes hold keys.
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

/** UTF-16 units of a name that are folded for its key. */
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
