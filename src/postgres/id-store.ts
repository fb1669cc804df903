import type { Actor } from '../actor.ts'
import { findFreeRange, type IdRange, later } from '../free-ids.ts'
import type { IdReservation, IdStore } from '../id-store.ts'
import type { Row, Run } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'
import type { RunMethod } from './token-store.ts'

/** Keeps reservations of ids in the database of the store. */
export class PostgresIdStore implements IdStore {
  readonly #share: PoolShare
  readonly #reservations: PoolShare
  readonly #run: RunMethod

  /** @param reservations the share for `reserveIds`, which has one client */
  constructor(share: PoolShare, reservations: PoolShare, run: RunMethod) {
    this.#share = share
    this.#reservations = reservations
    this.#run = run
  }

  proposeId(): Promise<bigint | undefined> {
    return this.#run(() => this.#share.with(async (run) => (await freeRange(run, 1))?.first))
  }

  reserveIds(count: number, key: Buffer | undefined, { id: actor }: Actor): Promise<IdRange | undefined> {
    return this.#run(() =>
      this.#reservations.transaction('BEGIN', async (run) => {
        // Only one transaction of all instances reserves at a time. Reads do not wait for the lock.
        await run({ text: 'LOCK TABLE id_reservations IN SHARE ROW EXCLUSIVE MODE' })
        const known = key === undefined ? undefined : await reservedWith(run, key)
        if (known !== undefined) return known
        const range = await freeRange(run, count)
        if (range !== undefined) await insert(run, { ...range, key, at: new Date(), actor })
        return range
      }),
    )
  }

  exportReservations(): Promise<IdReservation[]> {
    const text = `SELECT first_id, last_id, encode(key, 'hex'), at, actor FROM id_reservations ORDER BY first_id`
    return this.#run(async () => (await this.#share.run({ text })).rows.map(reservationOf))
  }

  addReservation(reservation: IdReservation): Promise<void> {
    return this.#run(() => insert(this.#share.run, reservation))
  }
}

async function freeRange(run: Run, count: number): Promise<IdRange | undefined> {
  const search = findFreeRange(count)
  for (let step = search.next(); ; step = search.next(await usedBelow(run, step.value))) {
    if (step.done === true) return step.value
  }
}

async function usedBelow(run: Run, id: bigint): Promise<IdRange | undefined> {
  const values = [String(id)]
  const plant = 'SELECT id, id FROM plants WHERE id >= 1 AND id < $1 ORDER BY id DESC LIMIT 1'
  const reserved = 'SELECT first_id, last_id FROM id_reservations WHERE first_id < $1 ORDER BY first_id DESC LIMIT 1'
  return later(await rangeOf(run, plant, values), await rangeOf(run, reserved, values))
}

const reservedWith = (run: Run, key: Buffer): Promise<IdRange | undefined> =>
  rangeOf(run, 'SELECT first_id, last_id FROM id_reservations WHERE key = $1', [key])

async function rangeOf(run: Run, text: string, values: readonly unknown[]): Promise<IdRange | undefined> {
  const [row] = (await run({ text, values })).rows
  return row === undefined ? undefined : { first: BigInt(row[0] ?? ''), last: BigInt(row[1] ?? '') }
}

async function insert(run: Run, { first, last, key, at, actor }: IdReservation): Promise<void> {
  const text = `INSERT INTO id_reservations (first_id, last_id, key, at, actor) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING`
  await run({ text, values: [String(first), String(last), key ?? null, at.getTime(), actor] })
}

const reservationOf = ([first, last, key, at, actor]: Row): IdReservation => ({
  first: BigInt(first ?? ''),
  last: BigInt(last ?? ''),
  key: key == null ? undefined : Buffer.from(key, 'hex'),
  at: new Date(Number(at)),
  actor: actor ?? '',
})
