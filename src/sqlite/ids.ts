import type { IdRange, IdReservation, IdStore } from '../domain/id-store.ts'
import type { Actor } from '../domain/token.ts'
import type { Connections } from './tokens.ts'
import { findFree } from './write/ids.ts'

/** Keeps reservations of ids in the file of the store. */
export class SqliteIdStore implements IdStore {
  readonly #open: Connections

  constructor(open: Connections) {
    this.#open = open
  }

  async proposeId(): Promise<bigint | undefined> {
    return findFree(this.#open.reader(), 1)?.first
  }

  async reserveIds(count: number, key: Buffer | undefined, { id: actor }: Actor): Promise<IdRange | undefined> {
    return this.#open.writer().reserveIds(count, { key, at: Date.now(), actor })
  }

  async exportReservations(): Promise<IdReservation[]> {
    const rows = this.#open
      .reader()
      .all('SELECT first_id, last_id, key, at, actor FROM id_reservations ORDER BY first_id')
    return rows.map(({ 0: first, 1: last, 2: key, 3: at, 4: actor }) => ({
      first: first as bigint,
      last: last as bigint,
      key: key === null ? undefined : Buffer.from(key as Uint8Array),
      at: new Date(Number(at)),
      actor: String(actor),
    }))
  }

  async addReservation({ first, last, key, at, actor }: IdReservation): Promise<void> {
    await this.#open.writer().addReservation({ first, last }, { key, at: at.getTime(), actor })
  }
}
