import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewPlant } from '../../plant.ts'

/** Bounds of one row of creates: who reads the log reads whole rows, with their plants. */
const MAX_IDS = 1000
const MAX_TEXT = 2 ** 20
/** Rows that are trimmed with one transaction. */
const MAX_TRIMMED = 500

/** What is done to a plant that exists. */
export type ChangeKind = 'replace' | 'update' | 'delete'

/** Appends to the log of changes (sql/sqlite/000003.sql), inside the transaction that changes the plants. */
export class ChangeLog {
  readonly #insert: StatementSync
  readonly #selectOldest: StatementSync
  readonly #deleteUpTo: StatementSync
  /** Created plants that have no row yet. */
  #created: bigint[] = []
  /** UTF-16 units of their names and tags. */
  #text = 0

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(`INSERT INTO changes (position, at, kind, ids, name, tag)
      VALUES ((SELECT coalesce(max(position), 0) FROM changes) + ?, ?, ?, ?, ?, ?)`)
    this.#selectOldest = db.prepare('SELECT position, at FROM changes WHERE position < ? ORDER BY position LIMIT ?')
    this.#deleteUpTo = db.prepare('DELETE FROM changes WHERE position <= ?')
  }

  /** Forgets what a transaction that was undone has left. */
  begin(): void {
    this.#created = []
    this.#text = 0
  }

  /** @param text UTF-16 units of its name and tag */
  created(id: bigint, text: number): void {
    if (this.#created.length > 0 && this.#text + text > MAX_TEXT) this.flush()
    this.#created.push(id)
    this.#text += text
    if (this.#created.length === MAX_IDS) this.flush()
  }

  /** @param before the plant as it was */
  changed(kind: ChangeKind, before: NewPlant): void {
    this.flush()
    this.#insert.run(1, Date.now(), kind, pack([before.id]), before.name, before.tag ?? null)
  }

  /** Writes the row of the last creates, which must precede the commit. */
  flush(): void {
    const created = this.#created
    if (created.length === 0) return
    this.begin()
    this.#insert.run(created.length, Date.now(), 'create', pack(created), null, null)
  }

  /**
   * Removes the oldest rows, as long as they end before a position and are older than a time: what is left has no gap.
   *
   * @returns whether there may be more of them
   */
  trim(position: number, before: number): boolean {
    const rows = this.#selectOldest.all(position, MAX_TRIMMED)
    const kept = rows.findIndex((row) => Number(row['at']) >= before)
    const last = rows.at(kept === -1 ? -1 : kept - 1)
    if (kept === 0 || last === undefined) return false
    this.#deleteUpTo.run(last['position'] as bigint)
    return rows.length === MAX_TRIMMED && kept === -1
  }
}

const pack = (ids: readonly bigint[]): Uint8Array => new Uint8Array(new BigInt64Array(ids).buffer)
