import { sortKey } from '../../fold.ts'
import type { NewPlant } from '../../plant.ts'
import type { StatementCache } from '../statement-cache.ts'
import { IndexFault } from './index-fault.ts'
import { indexedTerms } from './terms.ts'

/** Transactions of one merge. It moves names to the large table in key order, while transactions add new names. */
const MERGE_STEPS = 10

interface NameEntry {
  readonly key: string
  readonly id: bigint
}

/** Writes the entries of plants (sql/sqlite-index.sql). Call its methods inside a transaction of the index. */
export class PlantIndex {
  readonly #statements: StatementCache
  readonly #mergeFrom: number
  /** The number of entries in the small table of names. */
  #recent: number
  /** The last entry that the merge under way has moved; undefined without a merge. */
  #mergedTo: NameEntry | undefined

  /** @param mergeFrom the number of new names at which a merge into the large table begins */
  constructor(statements: StatementCache, mergeFrom: number) {
    this.#statements = statements
    this.#mergeFrom = mergeFrom
    this.#recent = Number(statements.get('SELECT count(*) FROM recent_names')?.[0] ?? 0)
  }

  /** Adds the entries of plants. The index must not have entries of these ids. */
  add(plants: readonly NewPlant[]): void {
    // In key order, so that SQLite writes the entries of one page together.
    const names = plants.map(({ id, name }): [key: string, id: bigint] => [sortKey(name), id])
    names.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    this.#statements.runEach('INSERT INTO recent_names (key, id) VALUES (?, ?)', names)
    this.#recent += names.length
    const terms: [id: bigint, terms: string][] = []
    const tags: [tag: string, id: bigint][] = []
    const counts = new Map<string, number>()
    // In id order: FTS5 begins a new segment when an id is smaller than the one before.
    for (const plant of plants.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const { id, tag } = plant
      terms.push([id, indexedTerms(plant)])
      if (tag === undefined) continue
      tags.push([tag, id])
      counts.set(tag, (counts.get(tag) ?? 0) + 1)
    }
    // One row in each INSERT: FTS5 flushes its pending rows when an INSERT of several rows begins.
    this.#statements.runEach('INSERT INTO words (rowid, terms) VALUES (?, ?)', terms)
    this.#statements.runEach('INSERT INTO tags (tag, id) VALUES (?, ?)', tags)
    for (const [tag, plants] of counts) this.#count(tag, plants)
  }

  /**
   * Removes the entries of plants. Pass each plant in the state in which it was added.
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

  /** Moves some names to the large table when a merge is due or under way. */
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

  /** Whether a merge is under way. */
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

/** A merge moves the entries after this one. An entry with exactly this key and id stays in the small table. */
const FIRST: NameEntry = { key: '', id: -(2n ** 63n) }
