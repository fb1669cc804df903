import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { sortKey } from '../fold.ts'
import type { NewPlant } from '../plant.ts'
import { transaction } from './connection.ts'
import { plantOf } from './rows.ts'
import { indexedTerms } from './search-terms.ts'

/** Raised whenever src/fold.ts or what is indexed changes; letters and digits themselves change with Unicode. */
const FOLDING = `2, Unicode ${process.versions['unicode']}`

/** The indexes of plants (sql/sqlite/000002.sql) as the writer keeps them. Used inside a transaction. */
export class PlantIndex {
  readonly #selectPlant: StatementSync
  readonly #insertName: StatementSync
  readonly #deleteName: StatementSync
  readonly #insertTag: StatementSync
  readonly #deleteTag: StatementSync
  readonly #countTag: StatementSync
  readonly #deleteCount: StatementSync
  readonly #insertWords: StatementSync
  readonly #deleteWords: StatementSync
  readonly #selectScan: StatementSync
  readonly #selectNext: StatementSync
  readonly #updateScan: StatementSync

  /** Makes the indexes anew, by a scan that is still to be done, if they were made by other rules. */
  constructor(db: DatabaseSync) {
    renew(db)
    this.#selectPlant = db.prepare('SELECT id, name, tag FROM plants WHERE id = ?')
    this.#insertName = db.prepare('INSERT INTO plant_names (key, id) VALUES (?, ?) ON CONFLICT DO NOTHING')
    this.#deleteName = db.prepare('DELETE FROM plant_names WHERE key = ? AND id = ?')
    this.#insertTag = db.prepare('INSERT INTO plant_tags (tag, id) VALUES (?, ?)')
    this.#deleteTag = db.prepare('DELETE FROM plant_tags WHERE tag = ? AND id = ?')
    this.#countTag = db.prepare(
      'INSERT INTO tag_counts (tag, plants) VALUES (?, ?) ON CONFLICT DO UPDATE SET plants = plants + excluded.plants',
    )
    this.#deleteCount = db.prepare('DELETE FROM tag_counts WHERE tag = ? AND plants = 0')
    this.#insertWords = db.prepare('INSERT INTO plant_words (rowid, words) VALUES (?, ?)')
    this.#deleteWords = db.prepare('DELETE FROM plant_words WHERE rowid = ?')
    this.#selectScan = db.prepare('SELECT is_scanning, scanned_to FROM plant_index')
    this.#selectNext = db.prepare('SELECT id FROM plants WHERE ?1 IS NULL OR id > ?1 ORDER BY id LIMIT ?2')
    this.#updateScan = db.prepare('UPDATE plant_index SET is_scanning = ?, scanned_to = ?')
  }

  /** Adds those of the plants that are there and not indexed yet. */
  add(ids: readonly bigint[]): void {
    const counts = new Map<string, bigint>()
    for (const id of this.#addNames(ids)) {
      const plant = this.#plant(id)
      if (plant === undefined) continue
      this.#insertWords.run(id, indexedTerms(plant))
      if (plant.tag === undefined) continue
      this.#insertTag.run(plant.tag, id)
      counts.set(plant.tag, (counts.get(plant.tag) ?? 0n) + 1n)
    }
    for (const [tag, plants] of counts) this.#countTag.run(tag, plants)
  }

  /**
   * Adds names in the order of their keys, so that those on one page are written together.
   *
   * @returns the ids that were not there yet, in their order: where they go back, the full-text index begins a segment
   */
  #addNames(ids: readonly bigint[]): BigInt64Array {
    const names: { key: string; id: bigint }[] = []
    for (const id of BigInt64Array.from(ids).sort()) {
      const plant = this.#plant(id)
      if (plant !== undefined) names.push({ key: sortKey(plant.name), id })
    }
    const added = names
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
      .filter(({ key, id }) => this.#insertName.run(key, id).changes > 0n)
    return BigInt64Array.from(added, ({ id }) => id).sort()
  }

  #plant(id: bigint): NewPlant | undefined {
    const row = this.#selectPlant.get(id)
    return row === undefined ? undefined : plantOf(row)
  }

  /** Takes away what is indexed of a plant, which is given as it is before it changes or goes. */
  remove({ id, name, tag }: NewPlant): void {
    if (this.#deleteName.run(sortKey(name), id).changes === 0n) return
    this.#deleteWords.run(id)
    if (tag === undefined) return
    this.#deleteTag.run(tag, id)
    this.#countTag.run(tag, -1n)
    this.#deleteCount.run(tag)
  }

  /** Adds the next plants of a scan that is under way, and says how many it looked at; 0 when there is none. */
  scan(most: number): number {
    const state = this.#selectScan.get()
    if (state?.['is_scanning'] !== 1n) return 0
    const ids = this.#selectNext.all(state['scanned_to'] as bigint | null, most).map((row) => row['id'] as bigint)
    this.add(ids)
    this.#updateScan.run(ids.length < most ? 0 : 1, ids.at(-1) ?? null)
    return ids.length
  }
}

function renew(db: DatabaseSync): void {
  const isCurrent = db.prepare('SELECT 1 FROM plant_index WHERE folding = ?').get(FOLDING) !== undefined
  if (isCurrent) return
  transaction(db, () => {
    db.exec(`DELETE FROM plant_names; DELETE FROM plant_tags; DELETE FROM tag_counts; DELETE FROM plant_journal;
      INSERT INTO plant_words (plant_words) VALUES ('delete-all')`)
    db.prepare(
      'UPDATE plant_index SET folding = ?, is_scanning = EXISTS (SELECT 1 FROM plants), scanned_to = NULL',
    ).run(FOLDING)
  })
}
