import type { NewPlant } from '../../domain/plant.ts'
import type { StatementCache } from '../statement-cache.ts'
import { type Entry, jsonOf } from './entries.ts'
import { IndexFault } from './index-fault.ts'
import { NameIndex } from './name-index.ts'
import { indexedTerms } from './terms.ts'

/** Writes the entries of plants (sql/sqlite-index.sql). Call its methods inside a transaction of the index. */
export class PlantIndex {
  readonly #statements: StatementCache
  readonly #names: NameIndex

  /** @param mergeFrom the number of new names at which a merge into the large table begins */
  constructor(statements: StatementCache, mergeFrom: number) {
    this.#statements = statements
    this.#names = new NameIndex(statements, mergeFrom)
  }

  /** Adds the entries of plants. The index must not have entries of these ids. */
  add(plants: readonly NewPlant[]): void {
    this.#names.add(plants)
    const terms: Entry[] = []
    const tags = new Map<string, bigint[]>()
    // In id order: FTS5 begins a new segment when an id is smaller than the one before.
    for (const plant of plants.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const { id, tag } = plant
      const { text, wide } = indexedTerms(plant)
      terms.push([text, id])
      if (wide.length > 0) this.#addWide(id, wide)
      if (tag === undefined) continue
      const ids = tags.get(tag)
      if (ids === undefined) tags.set(tag, [id])
      else ids.push(id)
    }
    // Few statements: FTS5 flushes its pending rows when an INSERT of several rows begins.
    const insert = 'INSERT INTO words (terms, rowid) SELECT value, CAST(key AS INTEGER) FROM json_each(?)'
    for (const json of jsonOf(terms)) this.#statements.run(insert, json)
    for (const [tag, ids] of tags) {
      this.#statements.run(
        'INSERT OR FAIL INTO tags (tag, id) SELECT ?, value FROM json_each(?)',
        tag,
        `[${ids.join()}]`,
      )
      this.#count(tag, ids.length)
    }
  }

  /**
   * Removes the entries of plants. Pass each plant in the state in which it was added.
   *
   * @throws IndexFault when an entry is missing
   */
  remove(plants: readonly NewPlant[]): void {
    const isDone = (sql: string, first: string, id: bigint) => this.#statements.run(sql, first, id) === 1n
    for (const plant of plants) {
      const { id, tag } = plant
      const isThere = this.#names.remove(plant)
      this.#statements.run('DELETE FROM words WHERE rowid = ?', id)
      this.#statements.run('DELETE FROM wide_words WHERE plant = ?', id)
      const isTagged = tag === undefined || isDone('DELETE FROM tags WHERE tag = ? AND id = ?', tag, id)
      if (!isThere || !isTagged) throw new IndexFault(`entries of the plant ${id} are missing`)
      if (tag !== undefined) this.#count(tag, -1)
    }
  }

  /** Moves some names to the large table when a merge is due or under way. */
  merge(): void {
    this.#names.merge()
  }

  /** Whether a merge is under way. */
  get isMerging(): boolean {
    return this.#names.isMerging
  }

  #addWide(id: bigint, terms: readonly string[]): void {
    const insert = 'INSERT OR FAIL INTO wide_words (plant, term) SELECT ?, value FROM json_each(?) ORDER BY value'
    this.#statements.run(insert, id, JSON.stringify(terms))
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
