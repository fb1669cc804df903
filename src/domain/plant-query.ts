import { compareCodePoints, isBlank, sortKey, words } from './fold.ts'
import type { NewPlant, Plant } from './plant.ts'

/** Selects plants. An empty part selects all. */
export interface PlantFilter {
  /** The plant has one of these tags, exactly. */
  readonly tags: readonly string[]
  /** Folded words (src/domain/fold.ts); each is a prefix of a word of the plant's name or tag. */
  readonly words: readonly string[]
}

/**
 * The filter for plants that have one of the tags, if any are given, and every word of a text; undefined for a text
 * without a word, which no plant matches. A blank text is as none.
 */
export function filterOf(tags: readonly string[] = [], text = ''): PlantFilter | undefined {
  const wanted = text === '' ? NO_WORDS : [...new Set(words(text))]
  if (wanted.length === 0 && !isBlank(text)) return undefined
  return { tags: tags.length < 2 ? tags : [...new Set(tags)], words: wanted }
}

const NO_WORDS: readonly string[] = []

/** The filter for all plants. */
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

/**
 * UTF-16 code units of names and tags after which a page of a list ends, whatever its limit. Without this bound, a
 * thousand names of a mebibyte each would take all memory.
 */
export const PAGE_TEXT = 2 * 2 ** 20

/**
 * UTF-16 code units of a plant's distinct folded words up to which an engine treats it like any other. Few plants have
 * more, and one request can bring sixteen times as many: an engine indexes these so that they delay no other plants.
 */
export const MAX_WORDS_TEXT = 2 ** 16

export const isByName = (order: PlantOrder): boolean => order.endsWith('name')
export const isDescending = (order: PlantOrder): boolean => order.startsWith('-')

/** A page of up to this many plants takes less than a millisecond. */
const MAX_SHORT_PAGE = 200

/** Whether a page is short, by id, and without a filter. Every other page counts as a search. */
export const isShortPage = ({ tags, words, order }: PlantQuery, limit: number): boolean =>
  limit <= MAX_SHORT_PAGE && !isByName(order) && tags.length + words.length === 0

/** Whether a plant matches a filter. An engine may use an index, but must find the same plants. */
export function matches(filter: PlantFilter, plant: Plant): boolean {
  if (filter.tags.length > 0 && (plant.tag === undefined || !filter.tags.includes(plant.tag))) return false
  if (filter.words.length === 0) return true
  const own = plantWords(plant)
  return filter.words.every((word) => own.some((candidate) => candidate.startsWith(word)))
}

/** All words of a plant's name and tag, folded. A word may occur more than once. */
export function plantWords({ name, tag }: Plant): string[] {
  return tag === undefined ? words(name) : words(name).concat(words(tag))
}

/** The position of a plant in an order. */
export function positionOf(order: PlantOrder, plant: NewPlant): Position {
  return { key: isByName(order) ? sortKey(plant.name) : '', id: plant.id }
}

/** Returns a negative number when `a` comes before `b`, 0 when they are equal, and otherwise a positive number. */
export function comparePositions(order: PlantOrder, a: Position, b: Position): number {
  const upwards = compareCodePoints(a.key, b.key) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  return isDescending(order) ? -upwards : upwards
}
