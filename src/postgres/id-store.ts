import {
  findFreeRange,
  type IdRange,
  type IdReservation,
  type IdStore,
  joinRanges,
  KEY_TIME,
  later,
  MAX_FORGOTTEN,
} from '../domain/id-store.ts'
import type { Actor } from '../domain/token.ts'
import type { Row, Run } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

export class PostgresIdStore implements IdStore {
  readonly #share: PoolShare
  readonly #reservations: PoolShare

  /** @param reservations the share for `reserveIds`, which has one client */
  constructor(share: PoolShare, reservations: PoolShare) {
    this.#share = share
    this.#reservations = reservations
  }

  proposeId(): Promise<bigint | undefined> {
    return this.#share.with(async (run) => (await freeRange(run, 1))?.first)
  }

  reserveIds(count: number, key: Buffer | undefined, { id: actor }: Actor): Promise<IdRange | undefined> {
    return this.#reservations.transaction('BEGIN', async (run) => {
      // Only one transaction of all instances reserves at a time. Reads do not wait for the lock.
      await run({ text: 'LOCK TABLE id_reservations IN SHARE ROW EXCLUSIVE MODE' })
      const at = new Date()
      const before = at.getTime() - KEY_TIME
      const known = key === undefined ? undefined : await reservedWith(run, key, before)
      if (known !== undefined) return known
      await join(run, await forgetKeys(run, OLD_KEYS, [before]))
      const range = await freeRange(run, count)
      if (range === undefined) return undefined
      await put(run, { ...range, key, at, actor })
      if (key === undefined) await join(run, [range])
      return range
    })
  }

  async exportReservations(): Promise<IdReservation[]> {
    const text = `SELECT first_id, last_id, encode(key, 'hex'), at, actor FROM id_reservations ORDER BY first_id`
    return (await this.#share.run({ text })).rows.map(reservationOf)
  }

  addReservation(reservation: IdReservation): Promise<void> {
    return this.#share.transaction('BEGIN', (run) => put(run, reservation))
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

const reservedWith = (run: Run, key: Buffer, before: number): Promise<IdRange | undefined> =>
  rangeOf(run, 'SELECT first_id, last_id FROM id_reservations WHERE key = $1 AND at > $2', [key, before])

const OLD_KEYS = `first_id IN (
  SELECT first_id FROM id_reservations WHERE key IS NOT NULL AND at <= $1 ORDER BY at LIMIT ${MAX_FORGOTTEN})`
const SAME_KEY = 'key = $1 AND first_id <> $2'

/** @returns the ranges whose keys it forgot */
async function forgetKeys(run: Run, where: string, values: readonly unknown[]): Promise<IdRange[]> {
  const text = `UPDATE id_reservations SET key = NULL WHERE ${where} RETURNING first_id, last_id`
  return (await run({ text, values })).rows.map(rangeIn)
}

const NEIGHBOURS = `
  WITH own AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS own (first_id, last_id))
  SELECT below.first_id, below.last_id FROM own CROSS JOIN LATERAL (
      SELECT * FROM id_reservations WHERE first_id < own.first_id ORDER BY first_id DESC LIMIT 1) AS below
    WHERE below.key IS NULL AND below.last_id = own.first_id - 1
  UNION ALL
  SELECT above.first_id, above.last_id FROM own JOIN id_reservations AS above ON above.first_id = own.last_id + 1
    WHERE above.key IS NULL`

/** Joins ranges without a key with their neighbours. */
async function join(run: Run, own: readonly IdRange[]): Promise<void> {
  if (own.length === 0) return
  const { rows } = await run({ text: NEIGHBOURS, values: columnsOf(own) })
  const { grown, gone } = joinRanges([...own, ...rows.map(rangeIn)])
  if (gone.length === 0) return
  await run({ text: 'DELETE FROM id_reservations WHERE first_id = ANY ($1::bigint[])', values: [arrayOf(gone)] })
  const text = `UPDATE id_reservations SET last_id = grown.last_id
    FROM unnest($1::bigint[], $2::bigint[]) AS grown (first_id, last_id)
    WHERE id_reservations.first_id = grown.first_id`
  await run({ text, values: columnsOf(grown) })
}

const arrayOf = (ids: readonly bigint[]): string => `{${ids.join(',')}}`
const columnsOf = (ranges: readonly IdRange[]): string[] => [
  arrayOf(ranges.map(({ first }) => first)),
  arrayOf(ranges.map(({ last }) => last)),
]

async function rangeOf(run: Run, text: string, values: readonly unknown[]): Promise<IdRange | undefined> {
  return (await run({ text, values })).rows.map(rangeIn)[0]
}

const rangeIn = ([first, last]: Row): IdRange => ({ first: BigInt(first ?? ''), last: BigInt(last ?? '') })

async function put(run: Run, { first, last, key, at, actor }: IdReservation): Promise<void> {
  const range = [String(first), String(last)]
  const within = 'first_id > $1 AND first_id <= $2 AND last_id <= $2'
  await run({ text: `DELETE FROM id_reservations WHERE ${within}`, values: range })
  if (key !== undefined) await join(run, await forgetKeys(run, SAME_KEY, [key, String(first)]))
  const text = `INSERT INTO id_reservations AS old (first_id, last_id, key, at, actor) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (first_id) DO UPDATE
      SET last_id = excluded.last_id, key = excluded.key, at = excluded.at, actor = excluded.actor
      WHERE excluded.last_id >= old.last_id`
  await run({ text, values: [...range, key ?? null, at.getTime(), actor] })
}

const reservationOf = ([first, last, key, at, actor]: Row): IdReservation => ({
  first: BigInt(first ?? ''),
  last: BigInt(last ?? ''),
  key: key == null ? undefined : Buffer.from(key, 'hex'),
  at: new Date(Number(at)),
  actor: actor ?? '',
})
