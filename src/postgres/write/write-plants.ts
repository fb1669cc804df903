import { isEqual, type NewPlant } from '../../domain/plant.ts'
import {
  logged,
  loggedCreates,
  logParts,
  logValues,
  RETURN_WRITTEN,
  type Swap,
  tokensOf,
  writtenIn,
} from '../changes/log-rows.ts'
import type { Run, Statement } from '../pool/client.ts'
import { selectPlants } from '../read/point-reader.ts'
import { bigintArray, COLUMNS, columnsOf, idsIn, type PlantRow, rowOf, textsOf } from '../rows.ts'

/** Inserts rows whose ids are free, without a log. Returns the ids of the inserted rows; the other ids exist. */
export type Insert = (run: Run, rows: readonly PlantRow[]) => Promise<readonly bigint[]>

/** Inserts the plants whose ids are free. @returns the present plants of all other ids */
export async function putPlants(run: Run, swaps: readonly Swap[], insert: Insert): Promise<Map<bigint, NewPlant>> {
  const there = new Map<bigint, NewPlant>()
  for (let rest = swaps; rest.length > 0; ) {
    const created = new Set(await writePlants(run, 'insert', rest, insert))
    rest = rest.filter(({ id }) => !created.has(id))
    for (const plant of await selectPlants(run, rest)) there.set(plant.id, plant)
    // A concurrent write deleted the plants of the remaining ids. Retry.
    rest = rest.filter(({ id }) => !there.has(id))
  }
  return there
}

/** @returns the ids of the plants that were equal to `before`, and now are equal to `after` */
export async function swapPlants(run: Run, swaps: readonly Swap[], insert: Insert): Promise<Set<bigint>> {
  const done = new Set<bigint>()
  const writes: Record<Write, Swap[]> = { insert: [], update: [], delete: [] }
  for (const swap of swaps) {
    const { id, before, after, changes } = swap
    // The row that was read is committed, so an unchanged plant needs no write, unless changes cancel each other out.
    if (isEqual(before, after) && changes.length === 0) done.add(id)
    else writes[before === undefined ? 'insert' : after === undefined ? 'delete' : 'update'].push(swap)
  }
  for (const write of ['update', 'insert', 'delete'] as const) {
    for (const id of await writePlants(run, write, writes[write], insert)) done.add(id)
  }
  return done
}

type Write = 'insert' | 'update' | 'delete'

/** @returns the ids of the plants that it has written; the others were not as `before` */
export async function writePlants(run: Run, write: Write, swaps: readonly Swap[], insert: Insert): Promise<bigint[]> {
  const ids: bigint[] = []
  // Two groups that lock the same plants in one order can not deadlock. The statement that inserts sorts by itself.
  const inOrder = write === 'insert' ? swaps : swaps.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  for (const part of logParts(inOrder)) {
    const rows = part.flatMap(({ after }) => (after === undefined ? [] : [rowOf(after)]))
    ids.push(...(await writePart(run, write, part, rows, insert)))
  }
  return ids
}

async function writePart(
  run: Run,
  write: Write,
  swaps: readonly Swap[],
  rows: readonly PlantRow[],
  insert: Insert,
): Promise<readonly bigint[]> {
  const changes = swaps.flatMap((swap) => swap.changes)
  if (write === 'insert' && changes.length === 0) return insert(run, rows)
  const ids = swaps.map(({ id }) => id)
  const values = [
    ...(write === 'delete' ? [bigintArray(ids)] : columnsOf(rows)),
    ...(write === 'insert' ? [] : textsOf(swaps.map(({ before }) => before))),
  ]
  if (changes.length === 0) return idsIn(await run({ name: write, text: TEXTS[write], values }))
  const isOnce = write === 'insert' || (write === 'update' && swaps.every((swap) => swap.changes.length === 1))
  const statement = isOnce
    ? { name: `${write}-once`, text: ONCE_AND_LOG[write], values: [...values, tokensOf(changes)] }
    : { name: `${write}-and-log`, text: AND_LOG[write], values: [...values, ...logValues(changes)] }
  return writtenIn(await run(statement), ids)
}

/** Inserts the rows with one array for each column. */
export const insertColumns: Insert = (run, rows) =>
  insertGroup(run, rows, { name: 'insert', text: TEXTS.insert, values: columnsOf(rows) })

export async function insertGroup(run: Run, rows: readonly PlantRow[], statement: Statement): Promise<bigint[]> {
  const outcome = await run(statement)
  return outcome.count === rows.length ? rows.map(({ id }) => id) : idsIn(outcome)
}

/** `plants.id = ANY` lets Citus find the shards of the rows (docs/guides/scale-out.md). */
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
