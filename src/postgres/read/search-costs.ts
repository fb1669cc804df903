import { isByName, type PlantQuery } from '../../domain/plant-query.ts'
import type { SearchStatistics } from './search-statistics.ts'

/**
 * Microseconds of the database's processor, measured on PostgreSQL 18 with a million plants, those of whole words with
 * ten million. Only their ratios matter.
 */
const COST = {
  /** A plant of a walk: near the plant before it on disk, in the order of a tag, and elsewhere on disk. */
  near: 0.35,
  inTag: 2,
  far: 3,
  /** A plant of a set, anywhere on disk. */
  plant: 3,
  /** A plant of a window. PostgreSQL counts and lists it in the index of the order. */
  position: 0.25,
  /** A plant of a tag. PostgreSQL lists it in the index of tags. */
  tagged: 0.1,
  /** An entry of the index of words: to list it, and to compare it with the entries of other words. */
  entry: 0.13,
  compared: 0.35,
  /** The same for an entry of a whole word (hasWords). */
  whole: 0.02,
  wholeCompared: 0.12,
}
/** The share of plants above which further entries of a word cost almost nothing, as they lie on the same pages. */
const DENSE = 0.08
/** The assumed share of a word or tag that the statistics do not list. */
const RARE = 0.0002
/**
 * The weight of the statistics, as a number of plants seen: for a listed word, of which PostgreSQL has sampled 30,000
 * plants by default; for another word; for a word among the plants of a tag; and for all words together.
 */
const WEIGHT = { listed: 30_000, word: 2000, inTag: 300, together: 1000 }
/** The bound of a step, as a factor of the expected plants. A walk ends once its page is full; the others read all. */
const SAFETY = { walk: 2.5, window: 2, set: 3 }
/** The least bound of a set or a tag, because estimates of rare words and tags are rough. */
const MIN_BOUND = 5000
/** Maximum cost for each plant of every way but the cheapest. The rounds of `search` try the others with bounds. */
const MAX_COST = 0.1

/** Facts about a query, from its first plants and from the statistics. */
export interface Facts {
  readonly limit: number
  /** The number of first plants, the hits among them, and for each counted word the plants with it. */
  readonly seen: number
  readonly hits: number
  readonly words: readonly number[]
  readonly statistics: SearchStatistics
}

/** A way to find the plants of a query, with the maximum number of plants to read, and its expected microseconds. */
export interface Way {
  readonly kind: 'walk' | 'window' | 'set'
  readonly bound: number
  readonly cost: number
}

interface WordShare {
  readonly word: string
  /** The share of all plants that the index of words lists for the word, and of the plants with the query's tag. */
  readonly share: number
  /** Whether the index lists a whole word, and not a prefix. */
  readonly isWhole: boolean
  readonly inTag: number
  /** The share of the plants that a walk reads first. By name, plants whose names begin with the word lie elsewhere. */
  readonly onWalk: number
}

/** Returns the words to look up in the index of words, the rarest first. The search checks plants for the others. */
export function wordsToAsk(query: PlantQuery, facts: Facts): string[] {
  return chosen(sharesOf(query, facts), query, facts).map(({ word }) => word)
}

/** Returns the ways to try, the cheapest first. */
export function waysOf(query: PlantQuery, facts: Facts): Way[] {
  const { order, tags, words } = query
  const { limit, statistics } = facts
  const shares = sharesOf(query, facts)
  const asked = chosen(shares, query, facts)
  const tagged = statistics.plants * tagShareOf(query, facts)
  const positions = limit / densityOf(shares, query, facts)
  const walked = tags.length === 1 ? Math.min(positions, Math.max(tagged, MIN_BOUND)) : positions
  const plants = tagged * product(asked.map(({ inTag }) => inTag))
  const entries = statistics.plants * entryCost(asked)
  const each = tags.length === 1 ? COST.inTag : statistics.isNear(order) ? COST.near : COST.far
  const ways: Way[] = [
    {
      kind: 'walk',
      bound: Math.max(limit, Math.ceil(walked * SAFETY.walk)),
      cost: Math.min(walked, tags.length === 1 ? tagged : walked) * each,
    },
    {
      kind: 'set',
      bound: Math.max(MIN_BOUND, Math.ceil(plants * SAFETY.set)),
      cost: entries + plants * COST.plant + (tags.length === 0 ? 0 : tagged * COST.tagged),
    },
  ]
  if (tags.length === 0 && words.length > 0 && statistics.hasWindows(order)) {
    const bound = Math.ceil(positions * SAFETY.window)
    ways.push({
      kind: 'window',
      bound,
      cost: entries + bound * COST.position + SAFETY.window * limit * COST.plant,
    })
  }
  return ways.sort((a, b) => a.cost - b.cost).filter(({ cost }, i) => i === 0 || cost <= MAX_COST * statistics.plants)
}

function sharesOf(query: PlantQuery, facts: Facts): WordShare[] {
  const { words, order, tags } = query
  const { hits, seen, words: counts, statistics } = facts
  return words.map((word, i) => {
    const count = words.length === 1 ? hits : counts[i]
    const blend = (known: number, weight: number) =>
      count === undefined ? known : (count + weight * known) / (seen + weight)
    if (!statistics.hasWords) {
      const seenShare = Math.max(0.5, count ?? hits) / seen
      return { word, share: seenShare, isWhole: false, inTag: seenShare, onWalk: seenShare }
    }
    const { all, first } = statistics.shareOf(word)
    const [known, elsewhere] = [Math.max(RARE, all), Math.max(RARE, all - first)]
    // By name, the plants whose names begin with the only word are a range of the order, and are not listed.
    const isRange = isByName(order) && words.length === 1
    const isWhole = statistics.isFrequent(word)
    if (tags.length === 1) {
      const inTag = blend(known, WEIGHT.inTag)
      const onWalk = blend(isByName(order) ? elsewhere : known, WEIGHT.inTag)
      return { word, share: known, isWhole, inTag: isByName(order) ? Math.max(known, inTag) : inTag, onWalk }
    }
    const listed = isRange ? elsewhere : known
    // The first plants by name say little of those whose names begin with another word.
    const share = isByName(order) && words.length > 1 ? listed : blend(listed, weightOf(word, statistics))
    return { word, share, isWhole, inTag: share, onWalk: isByName(order) ? elsewhere : share }
  })
}

/** Chooses words as long as their entries cost less than the plants that they exclude. */
function chosen(shares: readonly WordShare[], query: PlantQuery, facts: Facts): WordShare[] {
  const asked: WordShare[] = []
  let left = tagShareOf(query, facts)
  for (const one of shares.toSorted((a, b) => a.share - b.share)) {
    const spared = left * (1 - one.inTag) * COST.plant
    if (asked.length > 0 && spared < listCost(one)) break
    asked.push(one)
    left *= one.inTag
  }
  return asked
}

/** Microseconds to read the entries of words, divided by the number of plants in the store. */
function entryCost(asked: readonly WordShare[]): number {
  const [rarest] = asked
  const compared = asked.every(({ isWhole }) => isWhole) ? COST.wholeCompared : COST.compared
  return asked.reduce((sum, one) => sum + listCost(one), 0) + (rarest?.share ?? 0) * compared
}

/** Microseconds to list the entries of a word, divided by the number of plants in the store. */
const listCost = ({ share, isWhole }: WordShare): number =>
  isWhole ? share * COST.whole : Math.min(share, DENSE) * COST.entry

/** Estimates the share of hits among the plants that a walk reads first. */
function densityOf(shares: readonly WordShare[], query: PlantQuery, facts: Facts): number {
  const { hits, seen, statistics } = facts
  const [first, ...others] = shares
  const isOne = first !== undefined && others.length === 0 && query.tags.length === 0
  const weight = !statistics.hasWords ? 0 : isOne ? weightOf(first.word, statistics) : WEIGHT.together
  const expected = product(shares.map(({ onWalk }) => onWalk)) * (query.tags.length > 1 ? tagShareOf(query, facts) : 1)
  return Math.max(hits + weight * expected, 0.2) / (seen + weight)
}

const weightOf = (word: string, statistics: SearchStatistics): number =>
  statistics.lists(word) ? WEIGHT.listed : WEIGHT.word

const tagShareOf = ({ tags }: PlantQuery, { statistics }: Facts): number =>
  tags.length === 0 ? 1 : Math.max(RARE, statistics.shareOfTags(tags))

const product = (values: readonly number[]): number => values.reduce((all, value) => all * value, 1)
