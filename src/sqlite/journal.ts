import type { DatabaseSync, StatementSync } from 'node:sqlite'

const BYTES = BigInt64Array.BYTES_PER_ELEMENT
/** Ids in one entry at most, so that entries can be worked off in parts. */
const MAX_ENTRY = 2000

/** The plants that were written and are to be indexed (table `plant_journal`). Used inside a transaction. */
export class Journal {
  readonly #insert: StatementSync
  readonly #select: StatementSync
  readonly #deleteUpTo: StatementSync

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('INSERT INTO plant_journal (ids) VALUES (?)')
    this.#select = db.prepare('SELECT seq, ids FROM plant_journal ORDER BY seq')
    this.#deleteUpTo = db.prepare('DELETE FROM plant_journal WHERE seq <= ?')
  }

  append(ids: readonly bigint[]): void {
    for (let i = 0; i < ids.length; i += MAX_ENTRY) {
      this.#insert.run(new Uint8Array(new BigInt64Array(ids.slice(i, i + MAX_ENTRY)).buffer))
    }
  }

  /** Takes the oldest entries out, at least one and as many as hold `most` ids; ids may be there more than once. */
  take(most: number): bigint[] {
    const taken: bigint[] = []
    let last: unknown
    for (const { seq, ids } of this.#select.iterate()) {
      const entry = idsIn(ids)
      if (last !== undefined && taken.length + entry.length > most) break
      taken.push(...entry)
      last = seq
    }
    if (last !== undefined) this.#deleteUpTo.run(last as bigint)
    return taken
  }
}

export function idsIn(blob: unknown): BigInt64Array {
  const bytes = blob as Uint8Array
  return new BigInt64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}

/** How many ids a journal's blobs of so many bytes hold. */
export const idCount = (bytes: bigint): number => Number(bytes) / BYTES
