import type { IdStore } from '../domain/id-store.ts'
import { exportReservations, proposeId } from '../records/ids.ts'
import { runSteps } from './rows.ts'
import type { Connections } from './tokens.ts'

/** Keeps reservations of ids in the file of the store. */
export const sqliteIds = ({ reader, writer }: Connections): IdStore => ({
  proposeId: async () => runSteps(reader(), proposeId()),
  reserveIds: async (count, key, { id: actor }, content) => writer().reserveIds(count, key, new Date(), actor, content),
  exportReservations: async () => runSteps(reader(), exportReservations('hex(key)')),
  addReservation: async (reservation) => writer().addReservation(reservation),
})
