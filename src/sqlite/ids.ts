import type { IdReservation, IdStore } from '../domain/id-store.ts'
import { exportReservations, proposeId } from '../records/ids.ts'
import { runSteps } from './rows.ts'
import type { Connections } from './tokens.ts'

/** Keeps reservations of ids in the file of the store. */
export class SqliteIdStore implements IdStore {
  readonly #open: Connections

  constructor(open: Connections) {
    this.#open = open
  }

  async proposeId(): Promise<bigint | undefined> {
    return runSteps(this.#open.reader(), proposeId())
  }

  async reserveIds(
    ...[count, key, { id: actor }, content]: Parameters<IdStore['reserveIds']>
  ): ReturnType<IdStore['reserveIds']> {
    return this.#open.writer().reserveIds(count, key, new Date(), actor, content)
  }

  async exportReservations(): Promise<IdReservation[]> {
    return runSteps(this.#open.reader(), exportReservations('hex(key)'))
  }

  async addReservation(reservation: IdReservation): Promise<void> {
    await this.#open.writer().addReservation(reservation)
  }
}
