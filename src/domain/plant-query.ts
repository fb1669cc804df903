import { AppError } from './errors.ts'
import { covers, isBeginning, type Part } from './part.ts'
import { MAX_NAME, MAX_TAG, type NewPlant, type Plant } from './plant.ts'

/** Selects by tag. An empty part selects all. */
export interface TagFilter {
  /** The plant has one of these tags, exactly. */
  readonly tags: readonly string[]
  /** The plant has a tag that begins so, exactly; not empty. Then `tags` is empty. */
  readonly tagPrefix?: string | undefined
  /** The plant has no tag. Then neither of the other two is there. */
  readonly untagged?: boolean | undefined
  /** The plant is in this part as well, whatever the others demand. */
  readonly part?: Part | undefined
}

/** Selects plants. An empty part selects all. */
export interface PlantFilter extends TagFilter {
  /** Folded words (src/domain/plant-query.ts); each is a prefix of a word of the plant's name or tag. */
  readonly words: readonly string[]
}

/** Selects tags. An absent part selects all. */
export interface TagQuery {
  /** The tag begins so, exactly; not empty. */
  readonly prefix?: string | undefined
  /** Folded words; each is a prefix of a word of the tag. */
  readonly words?: readonly string[] | undefined
  /** The tag comes after this one in the order of code points. */
  readonly after?: string | undefined
}

/** Whether a tag is one that a query selects. An engine may use an index, but must find the same tags. */
export function isListed({ prefix = '', words = [], after }: TagQuery, tag: string): boolean {
  if (!tag.startsWith(prefix) || (after !== undefined && compareCodePoints(tag, after) <= 0)) return false
  return words.length === 0 || matches({ tags: [], words }, { name: '', tag })
}

/** What clients ask of plants, by the names of their parameters. */
export interface FilterRequest {
  readonly tag?: readonly string[] | undefined
  readonly tagPrefix?: string | undefined
  readonly untagged?: boolean | undefined
  readonly q?: string | undefined
}

/**
 * The filter for plants that have one of the tags, if any are given, and every word of a text; undefined for a text
 * without a word, which no plant matches. A blank text is as none. A hybrid sign in the text demands nothing, as many
 * lists write hybrids without it.
 *
 * @throws AppError 40003 for several of the parts about tags, which no plant would match together
 */
export function filterOf({ q: text = '', ...request }: FilterRequest): PlantFilter | undefined {
  const tagging = taggingOf(request)
  const wanted = wordsOf(text)
  return wanted && { ...tagging, words: wanted }
}

/** The words that a search for a text demands; undefined for a text without a word, which nothing matches. */
export function wordsOf(text: string): readonly string[] | undefined {
  const wanted = text === '' ? NO_WORDS : [...new Set(words(text.replaceAll(HYBRID, ' ')))]
  return wanted.length === 0 && !isBlank(text) ? undefined : wanted
}

/** The filter of what clients ask about tags. @throws AppError 40003 as `filterOf` does, and for an empty `tagPrefix` */
export function taggingOf({ tag = [], tagPrefix, untagged = false }: Omit<FilterRequest, 'q'>): TagFilter {
  if (hasSeveralTaggings({ tags: tag, tagPrefix, untagged })) {
    throw new AppError(40003, 'tag, tagPrefix and untagged exclude each other; give only one of them')
  }
  if (tagPrefix === '') throw new AppError(40003, 'tagPrefix must not be empty')
  const tags = tag.length < 2 ? tag : [...new Set(tag)]
  return { tags, ...(tagPrefix === undefined ? {} : { tagPrefix }), ...(untagged ? { untagged } : {}) }
}

/** Whether a filter has several parts about tags, which no plant would match together. */
export const hasSeveralTaggings = ({ tags = [], tagPrefix, untagged = false }: Partial<TagFilter>): boolean =>
  Number(tags.length > 0) + Number(tagPrefix !== undefined) + Number(untagged) > 1

const NO_WORDS: readonly string[] = []
/** The sign of hybrids, as in `Magnolia × soulangeana` and `×Cuprocyparis`. Folding keeps it. */
const HYBRID = '×'

export const ALL_PLANTS: PlantFilter = { tags: [], words: NO_WORDS }

export const PLANT_ORDERS = ['id', '-id', 'name', '-name'] as const
/** By id, or by folded name and then id. The minus reverses both. */
export type PlantOrder = (typeof PLANT_ORDERS)[number]

/** A position between two plants of an order: right after the plant with this sort key and id. */
export interface Position {
  /** The sort key in the orders by name; empty in the others. */
  readonly key: string
  readonly id: bigint
}

export interface PlantQuery extends PlantFilter {
  readonly order: PlantOrder
  /** The position after which to begin; undefined for the start. */
  readonly after: Position | undefined
}

export const isByName = (order: PlantOrder): boolean => order.endsWith('name')
export const isDescending = (order: PlantOrder): boolean => order.startsWith('-')

/** A page of up to this many plants takes less than a millisecond. */
const MAX_SHORT_PAGE = 200

/** Whether a page is short, by id, and without a filter. Every other page counts as a search. */
export const isShortPage = (query: PlantQuery, limit: number): boolean =>
  limit <= MAX_SHORT_PAGE && !isByName(query.order) && !hasFilter(query)

export const hasFilter = ({ words, ...filter }: PlantFilter): boolean => words.length > 0 || hasTagging(filter)

export const hasTagging = ({ tags, tagPrefix, untagged, part }: TagFilter): boolean =>
  tags.length > 0 || tagPrefix !== undefined || untagged === true || part !== undefined

/** Tags, and beginnings of tags. */
export interface TagTexts {
  readonly tags: readonly string[]
  readonly prefixes: readonly string[]
}

/** The tags that a filter demands, those in its part; undefined where it demands nothing, or no tag. */
export function wantedTags({ tags, tagPrefix, untagged, part }: TagFilter): TagTexts | undefined {
  if (part === undefined) {
    if (tagPrefix !== undefined) return { tags: [], prefixes: [tagPrefix] }
    return tags.length === 0 ? undefined : { tags, prefixes: [] }
  }
  if (untagged === true) return { tags: [], prefixes: [] }
  if (tags.length > 0) return { tags: tags.filter((tag) => covers(part, tag)), prefixes: [] }
  const isWithin = tagPrefix !== undefined && part.some((text) => isBeginning(text) && tagPrefix.startsWith(text))
  if (isWithin) return { tags: [], prefixes: [tagPrefix] }
  const own = part.filter((text) => text.startsWith(tagPrefix ?? ''))
  return { tags: own.filter((text) => !isBeginning(text)), prefixes: own.filter(isBeginning) }
}

/** Whether the tag of a plant is one that a filter demands. */
export function isTagged({ tags, tagPrefix, untagged, part }: TagFilter, tag: string | undefined): boolean {
  if (part !== undefined && !covers(part, tag)) return false
  if (untagged === true) return tag === undefined
  if (tagPrefix !== undefined) return tag?.startsWith(tagPrefix) === true
  return tags.length === 0 || (tag !== undefined && tags.includes(tag))
}

/** The least text, by code points, behind all that begin with a text; undefined where there is none. */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const code = last.codePointAt(0) ?? 0
    // U+D800 to U+DFFF are surrogates, which text can't hold.
    if (code < 0x10ffff) return points.join('') + String.fromCodePoint(code === 0xd7ff ? 0xe000 : code + 1)
  }
  return undefined
}

/** Whether a plant matches a filter. An engine may use an index, but must find the same plants. */
export function matches(filter: PlantFilter, plant: Plant): boolean {
  if (!isTagged(filter, plant.tag)) return false
  if (filter.words.length === 0) return true
  const own = plantWords(plant)
  return filter.words.every((word) => own.some((candidate) => candidate.startsWith(word)))
}

/**
 * All words of a plant's name and tag, folded, and the words that hyphens join as one: `Kiku-shidare` is also
 * `kikushidare`. The sign of a hybrid genus comes behind the name, because the sort key leaves it out. A word may occur
 * more than once. Of a text that folding makes more than twice as long as texts may be, only that much counts: U+FDFA
 * becomes 18 characters, and a plant of such would take ten times as long to index, and to compare, as any other.
 */
export function plantWords({ name, tag }: Plant): string[] {
  const folded = searched(name, MAX_NAME)
  const own = foldedWords(folded)
  const sign = hybridSign(folded)
  if (sign !== '') own.push(...own.splice(0, foldedWords(sign).length))
  if (tag === undefined) return withJoined(own, folded)
  const ofTag = searched(tag, MAX_TAG)
  return withJoined(withJoined(own.concat(foldedWords(ofTag)), folded), ofTag)
}

function withJoined(own: string[], folded: string): string[] {
  if (folded.search(HYPHEN) === -1) return own
  const runs = (folded.match(RUNS) ?? []).filter((run) => run.search(HYPHEN) !== -1)
  return own.concat(runs.map((run) => run.replaceAll(HYPHENS, '')).filter((word) => word !== ''))
}

export function positionOf(order: PlantOrder, plant: NewPlant): Position {
  return { key: isByName(order) ? sortKey(plant.name) : '', id: plant.id }
}

/** Returns a negative number when `a` comes before `b`, 0 when they are equal, and otherwise a positive number. */
export function comparePositions(order: PlantOrder, a: Position, b: Position): number {
  const upwards = compareCodePoints(a.key, b.key) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  return isDescending(order) ? -upwards : upwards
}

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
  return decomposed(cased).replaceAll('ς', 'σ')
}

/**
 * UTF-16 units that are folded at a time, where the start of the folded text may do: the names of most plants are
 * shorter.
 */
const PIECE = 64

/**
 * Folds the start of a text, piece by piece: no character folds otherwise beside others.
 *
 * @param isEnough whether the folded text so far is as much as the caller uses
 */
function foldStart(text: string, isEnough: (folded: string) => boolean): string {
  if (text.length <= PIECE || isAscii(text)) return fold(text)
  let folded = ''
  for (let from = 0; from < text.length && !isEnough(folded); ) {
    const piece = startOf(text.slice(from), PIECE)
    folded += fold(piece)
    from += piece.length
  }
  return folded
}

/** The first UTF-16 units of a text, at most `max`, without half a character. */
const startOf = (text: string, max: number): string =>
  text.length <= max ? text : text.slice(0, max).replace(SPLIT_PAIR, '')

/** The part of a folded text that searches find. @param max characters of the text before it was folded */
const searched = (text: string, max: number): string =>
  startOf(
    foldStart(text, ({ length }) => length > 2 * max),
    2 * max,
  )

/**
 * The words of a text, folded: runs of letters and digits. A pictograph or a flag is a word of its own. The hybrid sign
 * is the word `x`, by which keyboards replace it.
 */
export const words = (text: string): string[] => foldedWords(fold(text))

function foldedWords(folded: string): string[] {
  if (isAscii(folded)) return folded.match(ASCII_WORDS) ?? []
  return folded.replaceAll(HYBRID, ' x ').match(WORDS) ?? []
}

export const isWord = (text: string): boolean => WORD.test(text)

/** Whether a text has no visible character. */
export const isBlank = (text: string): boolean => BLANK.test(text)

/** Characters (code points) of a folded name by which plants are sorted. */
export const SORT_KEY_LENGTH = 128

/**
 * The key of the order by name: the start of the folded name. A hybrid genus is sorted by the letter behind its sign
 * (International Code of Nomenclature for algae, fungi, and plants, H.3.3: the sign is not part of the name), and all
 * quotation marks as one, whatever the keyboard had. Keys are compared by code points, plants with the same key by id.
 * The length of a key is bounded, as cursors and indexes hold keys.
 */
export function sortKey(name: string): string {
  const start = startOf(name, FOLDED_LENGTH)
  const whole = foldStart(start.search(QUOTATION_MARK) === -1 ? start : start.replaceAll(QUOTATION_MARKS, "'"), hasKey)
  const folded = whole.slice(hybridSign(whole).length)
  return folded.length <= SORT_KEY_LENGTH ? folded : Array.from(folded).slice(0, SORT_KEY_LENGTH).join('')
}

/** Whether a folded start has what may be signs of hybrids, and a key behind them. */
const hasKey = (folded: string): boolean => folded.length - (SIGNS.exec(folded)?.[0].length ?? 0) > 2 * SORT_KEY_LENGTH

/** The start of a folded name that is not part of the name of a hybrid genus; empty for all others. */
const hybridSign = (folded: string): string => (MAYBE_HYBRID.test(folded) ? (HYBRID_GENUS.exec(folded)?.[0] ?? '') : '')

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
/** At the start of a folded name: × of hybrids, + of graft chimaeras, and an x with a blank, as keyboards have no ×. */
const HYBRID_GENUS = /^\s*(?:[×+]\s*|x\s+)+(?=\p{L})/v
const MAYBE_HYBRID = /^[\s×+x]/
const SIGNS = /^[\s×+x]*/
const QUOTATION_MARK = /[\u0022\u0060\u00ab\u00b4\u00bb\u2018-\u201f\u2032-\u2037\u2039\u203a]/
const QUOTATION_MARKS = new RegExp(QUOTATION_MARK, 'g')
const HYPHEN = /[-\u2010\u2011]/
const HYPHENS = new RegExp(HYPHEN, 'g')
const RUNS = /[\p{L}\p{N}\-\u2010\u2011]+/gv
const ASCII_WORDS = /[a-z0-9]+/g
/** Two regional indicators are a flag. The blocks of pictographs have symbols that are no emoji, such as U+273F. */
const PICTOGRAPH = '\\p{RI}{1,2}|[\\p{Extended_Pictographic}\\p{EMod}[\\p{So}&&[\\u2600-\\u27bf\\u{1f000}-\\u{1faff}]]]'
const WORDS = new RegExp(`[\\p{L}\\p{N}]+|${PICTOGRAPH}`, 'gv')
const WORD = new RegExp(`^(?:[\\p{L}\\p{N}]+|${PICTOGRAPH})$`, 'v')
const MARKS = /[\p{M}\p{DI}]+/gv
const BLANK = /^[\s\p{DI}]*$/v
const BEYOND_ASCII = /[\u0080-\uffff]/

const isAscii = (text: string): boolean => !BEYOND_ASCII.test(text)
/**
 * Marks go before the decomposition too, with the same result: it sorts each run of marks by insertion, so that a
 * mebibyte of U+0323 U+0301 took 95 s. A change of case adds two marks to a character at most.
 */
const withoutMarks = (text: string): string => decomposed(text.replaceAll(MARKS, ''))
const decomposed = (text: string): string => text.normalize('NFKD').replaceAll(MARKS, '')

/** Surrogates encode the characters beyond U+FFFF, so they sort after U+E000 to U+FFFF. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
