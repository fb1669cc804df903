/**
 * Folds case and accents, for search and for sorting by name. Both engines use it, so they answer alike.
 *
 * It decomposes for compatibility (Unicode Standard Annex 15), and removes combining marks and invisible characters
 * (Default_Ignorable_Code_Point, such as the soft hyphen and joiners). Then it maps to upper case and back, so that `ß`
 * and `SS` both become `ss`, and replaces the final sigma by the common one.
 */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  // Lower case first: the capital sharp s (U+1E9E) has no upper case, but `ß` has.
  const cased = withoutMarks(text).toLowerCase().toUpperCase().toLowerCase()
  return withoutMarks(cased).replaceAll('ς', 'σ')
}

/** The words of a text, folded: runs of letters and digits. A pictograph or a flag is a word of its own. */
export function words(text: string): string[] {
  const folded = fold(text)
  return folded.match(isAscii(folded) ? ASCII_WORDS : WORDS) ?? []
}

/** Whether a text is a word that `words` may return. */
export const isWord = (text: string): boolean => WORD.test(text)

/** Whether a text has no visible character. */
export const isBlank = (text: string): boolean => BLANK.test(text)

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

/** Compares by code points, as UTF-8 bytes compare. Returns a negative number, 0 or a positive number. */
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
/** Two regional indicators are a flag. The blocks of pictographs have symbols that are no emoji, such as U+273F. */
const PICTOGRAPH = '\\p{RI}{1,2}|[\\p{Extended_Pictographic}\\p{EMod}[\\p{So}&&[\\u2600-\\u27bf\\u{1f000}-\\u{1faff}]]]'
const WORDS = new RegExp(`[\\p{L}\\p{N}]+|${PICTOGRAPH}`, 'gv')
const WORD = new RegExp(`^(?:[\\p{L}\\p{N}]+|${PICTOGRAPH})$`, 'v')
const MARKS = /[\p{M}\p{DI}]+/gv
const BLANK = /^[\s\p{DI}]*$/v
const BEYOND_ASCII = /[\u0080-\uffff]/

const isAscii = (text: string): boolean => !BEYOND_ASCII.test(text)
const withoutMarks = (text: string): string => text.normalize('NFKD').replaceAll(MARKS, '')

/** Surrogates encode the characters beyond U+FFFF, so they sort after U+E000 to U+FFFF. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
