import type { IdStore } from '../domain/id-store.ts'
import { addReservation, exportReservations, proposeId, reserveIds } from '../records/ids.ts'
import type { PoolShare } from './pool/pool-share.ts'
import { runSteps } from './rows.ts'

/** @param reservations the share for `reserveIds`, which has one client */
export const postgresIds = (share: PoolShare, reservations: PoolShare): IdStore => ({
  proposeId: () => share.with((run) => runSteps(run, proposeId())),

  reserveIds: (count, key, { id: actor }, content) =>
    reservations.transaction('BEGIN', async (run) => {
      // Only one transaction of all instances reserves at a time. Reads do not wait for the lock.
      await run({ text: 'LOCK TABLE id_reservations IN SHARE ROW EXCLUSIVE MODE' })
      return runSteps(run, reserveIds(count, key, new Date(), actor, content))
    }),

  exportReservations: () => share.with((run) => runSteps(run, exportReservations("encode(key, 'hex')"))),

  addReservation: (reservation) => share.transaction('BEGIN', (run) => runSteps(run, addReservation(reservation))),
})
