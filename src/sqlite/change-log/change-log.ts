import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewPlant } from '../../domain/plant.ts'

/**
 * Bounds of one row of creates, in plants and in UTF-16 units. A reader of the log reads all plants of a row at once.
 */
const MAX_IDS = 1000
const MAX_TEXT = 2 ** 18
/** Maximum number of rows that one transaction trims. */
const MAX_TRIMMED = 500

/** The kind of a change of a present plant. */
export type ChangeKind = 'replace' | 'update' | 'delete'

/** Appends to the log of changes (sql/sqlite/000003.sql), inside the transaction that changes the plants. */
export class ChangeLog {
  readonly #insert: StatementSync
  readonly #selectOldest: StatementSync
  readonly #deleteUpTo: StatementSync
  /** Ids of created plants without a row yet, by the ids of their actors. */
  readonly #created = new Map<string, bigint[]>()
  /** A reused buffer for the ids of one row: a new array for each row takes longer than its INSERT. */
  readonly #ids = new BigInt64Array(MAX_IDS)
  readonly #bytes = new Uint8Array(this.#ids.buffer)
  #count = 0
  /** UTF-16 units in the names and tags of the created plants without a row. */
  #text = 0

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(`INSERT INTO changes (position, at, kind, ids, name, tag, token)
      VALUES ((SELECT coalesce(max(position), 0) FROM changes) + ?, ?, ?, ?, ?, ?, ?)`)
    this.#selectOldest = db.prepare('SELECT position, at FROM changes WHERE position < ? ORDER BY position LIMIT ?')
    this.#deleteUpTo = db.prepare('DELETE FROM changes WHERE position <= ?')
  }

  /** Discards the creates that a rolled-back transaction has left. */
  begin(): void {
    this.#created.clear()
    this.#count = 0
    this.#text = 0
  }

  /**
   * Adds a create to the next row of its actor. This may reorder creates of several actors in one commit, which is
   * harmless: each creates another plant.
   *
   * @param text UTF-16 units of the name and the tag
   */
  created(id: bigint, text: number, actor: string): void {
    if (this.#count > 0 && this.#text + text > MAX_TEXT) this.flush()
    const ids = this.#created.get(actor)
    if (ids === undefined) this.#created.set(actor, [id])
    else ids.push(id)
    this.#text += text
    if (++this.#count === MAX_IDS) this.flush()
  }

  /** Adds a row. @param before the plant before the change */
  changed(kind: ChangeKind, before: NewPlant, actor: string): void {
    this.flush()
    this.#insert.run(1, Date.now(), kind, this.#packed([before.id]), before.name, before.tag ?? null, actor)
  }

  /** Writes the rows of the last creates, one for each actor. Call it before the commit. */
  flush(): void {
    if (this.#count === 0) return
    const at = Date.now()
    for (const [actor, ids] of this.#created)
      this.#insert.run(ids.length, at, 'create', this.#packed(ids), null, null, actor)
    this.begin()
  }

  /**
   * Removes the oldest rows, as long as they lie before a position and are older than a time. It leaves no gap.
   *
   * @param before milliseconds since 1970
   * @returns whether more such rows may remain
   */
  trim(position: number, before: number): boolean {
    const rows = this.#selectOldest.all(position, MAX_TRIMMED)
    const kept = rows.findIndex((row) => Number(row['at']) >= before)
    const last = rows.at(kept === -1 ? -1 : kept - 1)
    if (kept === 0 || last === undefined) return false
    this.#deleteUpTo.run(last['position'] as bigint)
    return rows.length === MAX_TRIMMED && kept === -1
  }

  /** Returns a view of the reused buffer, valid until the next call. SQLite copies it. */
  #packed(ids: readonly bigint[]): Uint8Array {
    this.#ids.set(ids)
    return this.#bytes.subarray(0, ids.length * this.#ids.BYTES_PER_ELEMENT)
  }
}
