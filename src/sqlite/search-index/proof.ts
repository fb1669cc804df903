import { isWord, type PlantFilter, type TagFilter } from '../../domain/plant-query.ts'
import type { SqliteRow } from '../rows.ts'
import { race, type Task } from '../worker/cooperative.ts'
import { IndexFault, type IndexStatements } from './index-file.ts'
import { AFTER_ALL, beginningWith, FIRST, rangeOf, rangeOfPrefix, startOf, UNTAGGED, unique } from './plant-index.ts'

/** A look at so few plants takes 4 ms. */
const FEW = 1000
/** To find one in so many plants takes less time than a look at all of them. */
const SHARE = 8
/** Words that take turns to find few plants. */
const MAX_WORDS = 4
/** Ids of a step: they are sorted, or merged, in a millisecond. */
const RUN = 8192
/** Ids that a step reads. */
const READ = 256

/** Plants that may match a filter, by id and each once. */
export interface ProvenIds {
  readonly ids: BigInt64Array
  /** Whether each of them must have a tag of the filter. Otherwise other plants may be among them. */
  readonly isOfTags: boolean
}

/**
 * Finds every indexed plant that may match a filter of words or tags, so that no damage of the index hides one. It takes
 * one word or the tags, whichever find fewer plants:
 *
 * - The index has each word in two places: in a list of its beginning, and among all words. Both must have the same
 *   plants, and the full-text index as many in all as the index.
 * - A tag must have as many plants as its count.
 *
 * @param plants IndexState.entries
 * @param counted adds up the counts of tags
 * @returns undefined when a look at all plants takes less time
 * @throws IndexFault when the index contradicts itself
 */
export function* provenIds(
  index: IndexStatements,
  filter: PlantFilter,
  plants: number,
  counted: (filter: TagFilter) => Task<number>,
): Task<ProvenIds | undefined> {
  const entries = entriesIn(index.get('SELECT block FROM words_data WHERE id = 10')?.[0] as Uint8Array)
  if (entries === undefined || plants <= FEW) return undefined
  if (entries !== plants) throw new IndexFault(`it has words of ${entries} plants, and ${plants} plants`)
  if (!filter.words.every(isWord)) return { ids: new BigInt64Array(), isOfTags: false }
  const longest = filter.words.toSorted((a, b) => b.length - a.length).slice(0, MAX_WORDS)
  const starts = unique(longest.map(startOf))
  const tasks = starts.map((start, i) => idsOfWord(index, start, plants / SHARE, `${i}`))
  if (filter.untagged === true || filter.tagPrefix !== undefined || filter.tags.length > 0)
    tasks.push(idsOfTags(index, filter, plants / SHARE, counted))
  return yield* race(tasks)
}

/** @param name tells statements that overlap apart */
function* idsOfWord(index: IndexStatements, start: string, max: number, name: string): Task<ProvenIds | undefined> {
  const matched = `/* ${name} */ SELECT rowid FROM words WHERE words MATCH ?`
  const ids = yield* gather(index.iterate(matched, beginningWith(start)), max)
  if (ids === undefined) return undefined
  const again = yield* gather(entriesOf(index, start, name), Number.POSITIVE_INFINITY)
  if (Buffer.compare(bytesOf(ids), bytesOf(again ?? ids)) === 0) return { ids, isOfTags: false }
  throw new IndexFault(`it has ${ids.length} plants with words from "${start}" on in one place and others elsewhere`)
}

/** The entries of all words with a beginning, as the list of all words has them. */
function* entriesOf(index: IndexStatements, start: string, name: string): Iterable<SqliteRow> {
  for (const from of [start, FIRST + start])
    yield* index.iterate(`/* ${name} */ SELECT doc FROM terms WHERE term >= ? AND term < ?`, from, from + AFTER_ALL)
}

function* idsOfTags(
  index: IndexStatements,
  filter: TagFilter,
  max: number,
  counted: (filter: TagFilter) => Task<number>,
): Task<ProvenIds | undefined> {
  const { from, before } = filter.untagged === true ? rangeOf(UNTAGGED) : rangeOfPrefix(filter.tagPrefix ?? '')
  const rows =
    filter.tags.length > 0
      ? index.iterate('SELECT id FROM tags WHERE tag IN (SELECT value FROM json_each(?))', JSON.stringify(filter.tags))
      : index.iterate('SELECT id FROM tags WHERE tag >= ? AND tag < ?', from, before)
  const ids = yield* gather(rows, max)
  if (ids === undefined) return undefined
  const count = yield* counted(filter)
  if (count !== ids.length) throw new IndexFault(`it has ${ids.length} plants of tags that count ${count}`)
  return { ids, isOfTags: true }
}

/** Returns the ids of rows in their order and each once; undefined when they are more than `max`. */
function* gather(rows: Iterable<SqliteRow>, max: number): Task<BigInt64Array | undefined> {
  const runs: BigInt64Array[] = []
  let run = new BigInt64Array(RUN)
  let length = 0
  for (const { 0: id } of rows) {
    run[length++] = id as bigint
    if (runs.length * RUN + length > max) return undefined
    if (length === RUN) {
      runs.push(run.sort())
      run = new BigInt64Array(RUN)
      length = 0
    }
    if (length % READ === 0) yield
  }
  return yield* merged([...runs, run.subarray(0, length).sort()])
}

/** Merges sorted lists of ids, and leaves each id once. */
export function* merged(lists: readonly BigInt64Array[]): Task<BigInt64Array> {
  const [first = new BigInt64Array(), second = new BigInt64Array()] = lists
  if (lists.length > 2) {
    const middle = lists.length >> 1
    return yield* merged([yield* merged(lists.slice(0, middle)), yield* merged(lists.slice(middle))])
  }
  const all = new BigInt64Array(first.length + second.length)
  let length = 0
  for (let [i, j] = [0, 0]; i < first.length || j < second.length; ) {
    const [one, other] = [first[i], second[j]]
    const isFirst = other === undefined || (one !== undefined && one <= other)
    const id = (isFirst ? one : other) ?? 0n
    if (isFirst) i++
    else j++
    if (length === 0 || all[length - 1] !== id) all[length++] = id
    if ((i + j) % RUN === 0) yield
  }
  return all.subarray(0, length)
}

const bytesOf = ({ buffer, byteOffset, byteLength }: BigInt64Array) => new Uint8Array(buffer, byteOffset, byteLength)

/** What begins the record that lists the segments of a full-text index, behind four bytes. */
const MAGIC = '255,0,0,1'
/** Numbers of the record before its levels, and of each segment. The last two are the entries that it lost, and all. */
const [HEAD, SEGMENT] = [3, 8]

/**
 * The entries of a full-text index by its own list of segments ("fts5StructureDecode" in
 * https://sqlite.org/src/file/ext/fts5/fts5_index.c).
 *
 * @returns undefined for a list in a form of another version of SQLite
 */
function entriesIn(block: Uint8Array): number | undefined {
  if (block.subarray(4, 8).join() !== MAGIC) return undefined
  const numbers = varints(block.subarray(8))
  let entries = 0
  for (let at = HEAD; at < numbers.length; ) {
    const end = at + 2 + SEGMENT * (numbers[at + 1] ?? 0)
    for (at += 2; at < end && at < numbers.length; at += SEGMENT)
      entries += (numbers[at + SEGMENT - 1] ?? 0) - (numbers[at + SEGMENT - 2] ?? 0)
  }
  return entries
}

/** Numbers of up to nine bytes, each with seven bits but the ninth (https://sqlite.org/fileformat2.html#varint). */
function varints(bytes: Uint8Array): number[] {
  const numbers: number[] = []
  let number = 0
  let length = 0
  for (const byte of bytes) {
    const isNinth = ++length === 9
    number = isNinth ? number * 256 + byte : number * 128 + (byte & 127)
    if (!isNinth && byte >= 128) continue
    numbers.push(number)
    number = length = 0
  }
  return numbers
}
