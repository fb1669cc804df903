import type { IdReservation, IdStore } from '../domain/id-store.ts'
import { addReservation, exportReservations, proposeId, reserveIds } from '../records/ids.ts'
import type { PoolShare } from './pool/pool-share.ts'
import { runSteps } from './rows.ts'

export class PostgresIdStore implements IdStore {
  readonly #share: PoolShare
  readonly #reservations: PoolShare

  /** @param reservations the share for `reserveIds`, which has one client */
  constructor(share: PoolShare, reservations: PoolShare) {
    this.#share = share
    this.#reservations = reservations
  }

  proposeId(): Promise<bigint | undefined> {
    return this.#share.with((run) => runSteps(run, proposeId()))
  }

  reserveIds(
    ...[count, key, { id: actor }, content]: Parameters<IdStore['reserveIds']>
  ): ReturnType<IdStore['reserveIds']> {
    return this.#reservations.transaction('BEGIN', async (run) => {
      // Only one transaction of all instances reserves at a time. Reads do not wait for the lock.
      await run({ text: 'LOCK TABLE id_reservations IN SHARE ROW EXCLUSIVE MODE' })
      return runSteps(run, reserveIds(count, key, new Date(), actor, content))
    })
  }

  exportReservations(): Promise<IdReservation[]> {
    return this.#share.with((run) => runSteps(run, exportReservations("encode(key, 'hex')")))
  }

  addReservation(reservation: IdReservation): Promise<void> {
    return this.#share.transaction('BEGIN', (run) => runSteps(run, addReservation(reservation)))
  }
}
