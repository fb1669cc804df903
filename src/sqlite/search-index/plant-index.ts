import { sortKey } from '../../fold.ts'
import type { NewPlant } from '../../plant.ts'
import type { StatementCache } from '../statement-cache.ts'
import { IndexFault } from './index-fault.ts'
import { indexedTerms } from './terms.ts'

/** Transactions of one merge, which writes to the large table of names in its order. New names are added meanwhile. */
const MERGE_STEPS = 10

interface NameEntry {
  readonly key: string
  readonly id: bigint
}

/** Keeps the entries of plants in the search index (sql/sqlite-index.sql). Used inside a transaction of the index. */
export class PlantIndex {
  readonly #statements: StatementCache
  readonly #mergeFrom: number
  /** Entries of the small table of names. */
  #recent: number
  /** The last entry of the current merge so far. */
  #mergedTo: NameEntry | undefined

  /** @param mergeFrom new names from which on they are merged into the large table */
  constructor(statements: StatementCache, mergeFrom: number) {
    this.#statements = statements
    this.#mergeFrom = mergeFrom
    this.#recent = Number(statements.get('SELECT count(*) FROM recent_names')?.[0] ?? 0)
  }

  /** Adds plants that have no entries yet. */
  add(plants: readonly NewPlant[]): void {
    // In the order of their keys, so that entries on one page are written together.
    const names = plants.map(({ id, name }): [key: string, id: bigint] => [sortKey(name), id])
    names.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    this.#statements.runEach('INSERT INTO recent_names (key, id) VALUES (?, ?)', names)
    this.#recent += names.length
    const terms: [id: bigint, terms: string][] = []
    const tags: [tag: string, id: bigint][] = []
    const counts = new Map<string, number>()
    // In the order of their ids: a smaller id makes the full-text index begin a segment.
    for (const plant of plants.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const { id, tag } = plant
      terms.push([id, indexedTerms(plant)])
      if (tag === undefined) continue
      tags.push([tag, id])
      counts.set(tag, (counts.get(tag) ?? 0) + 1)
    }
    // Not many with one statement: to begin one of several rows, the full-text index writes what it has gathered.
    this.#statements.runEach('INSERT INTO words (rowid, terms) VALUES (?, ?)', terms)
    this.#statements.runEach('INSERT INTO tags (tag, id) VALUES (?, ?)', tags)
    for (const [tag, plants] of counts) this.#count(tag, plants)
  }

  /**
   * Removes the entries of plants, which must be in the state in which they were added.
   *
   * @throws IndexFault when an entry is missing
   */
  remove(plants: readonly NewPlant[]): void {
    const isDone = (sql: string, first: string, id: bigint) => this.#statements.run(sql, first, id) === 1n
    for (const { id, name, tag } of plants) {
      const key = sortKey(name)
      const isRecent = isDone('DELETE FROM recent_names WHERE key = ? AND id = ?', key, id)
      if (isRecent) this.#recent--
      const isThere = isRecent || isDone('DELETE FROM names WHERE key = ? AND id = ?', key, id)
      this.#statements.run('DELETE FROM words WHERE rowid = ?', id)
      const isTagged = tag === undefined || isDone('DELETE FROM tags WHERE tag = ? AND id = ?', tag, id)
      if (!isThere || !isTagged) throw new IndexFault(`entries of the plant ${id} are missing`)
      if (tag !== undefined) this.#count(tag, -1)
    }
  }

  /** Moves some names to the large table, if a merge is due. */
  merge(): void {
    if (this.#mergedTo === undefined && this.#recent < this.#mergeFrom) return
    const { key, id } = this.#mergedTo ?? FIRST
    const step = Math.ceil(this.#mergeFrom / MERGE_STEPS)
    const rest = 'FROM recent_names WHERE (key, id) > (?, ?)'
    const last = this.#statements.get(`SELECT key, id ${rest} ORDER BY key, id LIMIT 1 OFFSET ?`, key, id, step)
    const end = last === undefined ? undefined : { key: last[0] as string, id: last[1] as bigint }
    const part = end === undefined ? rest : `${rest} AND (key, id) <= (?, ?)`
    const values = end === undefined ? [key, id] : [key, id, end.key, end.id]
    this.#statements.run(`INSERT INTO names (key, id) SELECT key, id ${part} ORDER BY key, id`, ...values)
    this.#recent -= Number(this.#statements.run(`DELETE ${part}`, ...values))
    this.#mergedTo = end
  }

  /** A merge is under way. */
  get isMerging(): boolean {
    return this.#mergedTo !== undefined
  }

  #count(tag: string, plants: number): void {
    this.#statements.run(
      'INSERT INTO tag_counts (tag, plants) VALUES (?, ?) ON CONFLICT DO UPDATE SET plants = plants + excluded.plants',
      tag,
      plants,
    )
    if (plants < 0) this.#statements.run('DELETE FROM tag_counts WHERE tag = ? AND plants = 0', tag)
  }
}

/** The start of a merge. An entry with exactly this key and id stays in the small table. */
const FIRST: NameEntry = { key: '', id: -(2n ** 63n) }
