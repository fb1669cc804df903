import type { Actor } from '../domain/actor.ts'
import type { IdRange, IdReservation, IdStore } from '../domain/id-store.ts'
import type { PointReader } from './read/point-reader.ts'
import type { Remote } from './worker/protocol.ts'
import type { SqliteWriter } from './write/writer.ts'

/** Keeps reservations of ids in the file of the store. */
export class SqliteIdStore implements IdStore {
  readonly #reader: PointReader
  readonly #writer: Remote<SqliteWriter>
  readonly #mustBeOpen: () => void

  /** @param mustBeOpen throws the AppError of a store that is closing or out of reach */
  constructor(reader: PointReader, writer: Remote<SqliteWriter>, mustBeOpen: () => void) {
    this.#reader = reader
    this.#writer = writer
    this.#mustBeOpen = mustBeOpen
  }

  async proposeId(): Promise<bigint | undefined> {
    this.#mustBeOpen()
    return this.#reader.freeId()
  }

  async reserveIds(count: number, key: Buffer | undefined, { id: actor }: Actor): Promise<IdRange | undefined> {
    this.#mustBeOpen()
    return this.#writer.reserveIds(count, { key: key ?? null, at: Date.now(), actor })
  }

  async exportReservations(): Promise<IdReservation[]> {
    this.#mustBeOpen()
    return this.#reader.reservations()
  }

  async addReservation({ key, at, ...rest }: IdReservation): Promise<void> {
    this.#mustBeOpen()
    await this.#writer.addReservation({ ...rest, key: key ?? null, at: at.getTime() })
  }
}
