import { isEqual, type NewPlant } from '../../domain/plant.ts'
import {
  actionOf,
  logged,
  loggedCreates,
  logParts,
  logValues,
  RETURN_WRITTEN,
  type Swap,
  tokensOf,
  writtenIn,
} from '../changes/log-rows.ts'
import type { Run } from '../pool/client.ts'
import { selectPlants } from '../read/point-reader.ts'
import { bigintArray, COLUMNS, columnsOf, idsIn, plantOf, rowsOf, textsOf } from '../rows.ts'

export type Write = 'insert' | 'update' | 'delete'

/** The table of plants. Its methods write plants only where the table is as `before` says. */
export class PlantTable {
  /** Locks the plants of these ids that exist, until the end of the transaction. @returns them */
  async lock(run: Run, wanted: readonly { readonly id: bigint }[]): Promise<NewPlant[]> {
    const values = [bigintArray(wanted.map(({ id }) => id))]
    return (await run({ name: 'lock', text: LOCK, values })).rows.map(plantOf)
  }

  /** Inserts the plants whose ids are free. @returns the present plants of all other ids */
  async put(run: Run, swaps: readonly Swap[]): Promise<Map<bigint, NewPlant>> {
    const there = new Map<bigint, NewPlant>()
    for (let rest = swaps; rest.length > 0; ) {
      const created = new Set(await this.write(run, 'insert', rest))
      rest = rest.filter(({ id }) => !created.has(id))
      for (const plant of await selectPlants(run, rest)) there.set(plant.id, plant)
      // A concurrent write deleted the plants of the remaining ids. Retry.
      rest = rest.filter(({ id }) => !there.has(id))
    }
    return there
  }

  /** @returns the ids of the plants that were equal to `before`, and now are equal to `after` */
  async swap(run: Run, swaps: readonly Swap[]): Promise<Set<bigint>> {
    const done = new Set<bigint>()
    const writes: Record<Write, Swap[]> = { insert: [], update: [], delete: [] }
    for (const swap of swaps) {
      const { id, before, after, changes } = swap
      // The row that was read is committed, so an unchanged plant needs no write, unless changes cancel each other out.
      if (isEqual(before, after) && changes.length === 0) done.add(id)
      else writes[before === undefined ? 'insert' : after === undefined ? 'delete' : 'update'].push(swap)
    }
    for (const write of ['update', 'insert', 'delete'] as const) {
      for (const id of await this.write(run, write, writes[write])) done.add(id)
    }
    return done
  }

  /** @returns the ids of the plants that it has written; the others were not as `before` */
  async write(run: Run, write: Write, swaps: readonly Swap[]): Promise<bigint[]> {
    const ids: bigint[] = []
    // Two groups that lock the same plants in one order can not deadlock. The statement that inserts sorts by itself. Of a
    // small table, whose rows the plan reads in their own order, PostgreSQL may end one of two groups, which is made again.
    const inOrder = write === 'insert' ? swaps : swaps.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    for (const part of logParts(inOrder)) ids.push(...(await writePart(run, write, part)))
    return ids
  }
}

async function writePart(run: Run, write: Write, swaps: readonly Swap[]): Promise<readonly bigint[]> {
  const changes = swaps.flatMap((swap) => swap.changes)
  const ids = swaps.map(({ id }) => id)
  const values = [
    ...(write === 'delete' ? [bigintArray(ids)] : columnsOf(await rowsOf(swaps))),
    ...(write === 'insert' ? [] : textsOf(swaps.map(({ before }) => before))),
  ]
  if (changes.length === 0) {
    const outcome = await run({ name: write, text: TEXTS[write], values })
    return outcome.count === ids.length ? ids : idsIn(outcome)
  }
  const action = swaps[0] && actionOf(swaps[0])
  if (action !== undefined) {
    const log = write === 'insert' ? [tokensOf(changes)] : logValues(changes)
    const statement = { name: `${write}-of-action`, text: OF_ACTION[write], values: [...values, ...log, action] }
    return writtenIn(await run(statement), ids)
  }
  const isOnce = write === 'insert' || (write === 'update' && swaps.every((swap) => swap.changes.length === 1))
  const statement = isOnce
    ? { name: `${write}-once`, text: ONCE_AND_LOG[write], values: [...values, tokensOf(changes)] }
    : { name: `${write}-and-log`, text: AND_LOG[write], values: [...values, ...logValues(changes)] }
  return writtenIn(await run(statement), ids)
}

const LOCK = 'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE'
/** By `= ANY`, the plan that a session keeps reads the rows of these ids, also if it was made while there were few plants. */
const IS_BEFORE = `plants.id = ANY ($1::bigint[]) AND plants.id = v.id
    AND plants.name = v.name_before AND plants.tag IS NOT DISTINCT FROM v.tag_before`
const TEXTS = {
  insert: `INSERT INTO plants (id, name, tag, sort_key, words) SELECT * FROM unnest(${COLUMNS}) ORDER BY 1
    ON CONFLICT (id) DO NOTHING RETURNING id`,
  update: `UPDATE plants SET name = v.name, tag = v.tag, sort_key = v.sort_key, words = v.words
    FROM unnest(${COLUMNS}, $6::text[], $7::text[]) AS v (id, name, tag, sort_key, words, name_before, tag_before)
    WHERE ${IS_BEFORE} RETURNING plants.id`,
  delete: `DELETE FROM plants USING unnest($1::bigint[], $2::text[], $3::text[]) AS v (id, name_before, tag_before)
    WHERE ${IS_BEFORE} RETURNING plants.id`,
}
const LOGGED = {
  insert: `INSERT INTO plants (id, name, tag, sort_key, words, created_by)
    SELECT *, pg_current_xact_id() FROM unnest(${COLUMNS}) ORDER BY 1
    ON CONFLICT (id) DO NOTHING RETURNING id, created_by`,
  update: `${TEXTS.update}, plants.created_by`,
  delete: `${TEXTS.delete}, plants.created_by`,
}
const AND_LOG = {
  update: `WITH done AS (${LOGGED.update}), ${logged([8, 9, 10, 11, 12, 13])} ${RETURN_WRITTEN}`,
  delete: `WITH done AS (${LOGGED.delete}), ${logged([4, 5, 6, 7, 8, 9])} ${RETURN_WRITTEN}`,
}
/** For one change of each plant, the log takes the parameters of the write: to send them again took a twentieth of it. */
const ONCE_AND_LOG = {
  insert: `WITH done AS (${LOGGED.insert}), ${loggedCreates('$6')} ${RETURN_WRITTEN}`,
  update: `WITH done AS (${LOGGED.update}), ${logged([1, 2, 3, 6, 7, 8])} ${RETURN_WRITTEN}`,
}

const OF_ACTION = {
  insert: `WITH done AS (${LOGGED.insert}), ${loggedCreates('$6', '$7')} ${RETURN_WRITTEN}`,
  update: `WITH done AS (${LOGGED.update}), ${logged([8, 9, 10, 11, 12, 13], '$14')} ${RETURN_WRITTEN}`,
  delete: `WITH done AS (${LOGGED.delete}), ${logged([4, 5, 6, 7, 8, 9], '$10')} ${RETURN_WRITTEN}`,
}
