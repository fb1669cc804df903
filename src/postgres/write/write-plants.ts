import type { NewPlant } from '../../domain/plant.ts'
import {
  type ChangesById,
  isEachOnce,
  logged,
  loggedCreates,
  logParts,
  logValues,
  RETURN_WRITTEN,
  tokenValue,
  writtenIn,
} from '../changes/log-rows.ts'
import type { Run, Statement } from '../pool/client.ts'
import type { Session } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { bigintArray, COLUMNS, columnsOf, idsIn, type PlantRow, rowOf, textArray } from '../rows.ts'
import { mayBeWide } from '../search-terms.ts'

/** Inserts in the order of ids, so that two groups with the same ids can not deadlock. */
const INSERT = `INSERT INTO plants (id, name, tag, sort_key, words) SELECT * FROM unnest(${COLUMNS}) ORDER BY 1
  ON CONFLICT (id) DO NOTHING RETURNING id`
const INSERT_LOGGED = `INSERT INTO plants (id, name, tag, sort_key, words, created_by)
  SELECT *, pg_current_xact_id() FROM unnest(${COLUMNS}) ORDER BY 1 ON CONFLICT (id) DO NOTHING RETURNING id, created_by`
const CREATE_AND_LOG = `WITH done AS (${INSERT_LOGGED}), ${loggedCreates('$6')} ${RETURN_WRITTEN}`
const INSERT_AND_LOG = `WITH done AS (${INSERT_LOGGED}), ${logged([6, 7, 8, 9, 10, 11])} ${RETURN_WRITTEN}`

/** Inserts rows whose ids are free, and logs it. Returns the ids of the inserted rows; the other ids exist. */
export type Insert = (run: Run, rows: readonly PlantRow[], log: ChangesById | undefined) => Promise<readonly bigint[]>

/** Inserts the plants whose ids are free. @returns the present plants of all other ids */
export async function putPlants(
  session: Session,
  plants: readonly NewPlant[],
  insert: Insert,
  log?: ChangesById,
): Promise<Map<bigint, NewPlant>> {
  const there = new Map<bigint, NewPlant>()
  for (let rest = plants; rest.length > 0; ) {
    const created = new Set(await insertPlants(session, rest, insert, log))
    rest = rest.filter(({ id }) => !created.has(id))
    for (const plant of await selectPlants(session.run, rest)) there.set(plant.id, plant)
    // A concurrent write deleted the plants of the remaining ids. Retry.
    rest = rest.filter(({ id }) => !there.has(id))
  }
  return there
}

/**
 * @param log the changes to log of the plants that it inserts; undefined while the log is switched off
 * @returns the ids of the plants that it inserted; the other ids exist
 */
export async function insertPlants(
  session: Session,
  plants: readonly NewPlant[],
  insert: Insert,
  log?: ChangesById,
): Promise<bigint[]> {
  const ids: bigint[] = []
  for (const part of logParts(plants, ({ id }) => id, log)) ids.push(...(await insertPart(session, part, insert, log)))
  return ids
}

async function insertPart(
  session: Session,
  plants: readonly NewPlant[],
  insert: Insert,
  log: ChangesById | undefined,
): Promise<readonly bigint[]> {
  const rows = plants.map(rowOf)
  const wide = rows.filter(({ blocks }) => blocks.length > 0)
  if (wide.length === 0) return insert(session.run, rows, log)
  return session.atomically(async (run) => {
    const ids = await insert(run, rows, log)
    await replaceWideWords(run, ids, wide)
    return ids
  })
}

/** Inserts the rows with one array for each column. */
export const insertColumns: Insert = async (run, rows, log) => {
  const values = columnsOf(rows)
  if (log === undefined) return insertGroup(run, rows, { name: 'insert', text: INSERT, values })
  const ids = rows.map(({ id }) => id)
  const statement = isEachOnce(ids, log)
    ? { name: 'create-and-log', text: CREATE_AND_LOG, values: [...values, tokenValue(ids, log)] }
    : { name: 'insert-and-log', text: INSERT_AND_LOG, values: [...values, ...logValues(ids, log)] }
  return writtenIn(await run(statement), ids)
}

export async function insertGroup(run: Run, rows: readonly PlantRow[], statement: Statement): Promise<bigint[]> {
  const outcome = await run(statement)
  return outcome.count === rows.length ? rows.map(({ id }) => id) : idsIn(outcome)
}

/** A plant before and after a change; both have the same id. */
export interface Update {
  readonly before: NewPlant
  readonly after: NewPlant
}

/** `plants.id = ANY` lets Citus find the shards of the rows (docs/guides/scale-out.md). */
const UPDATE = `UPDATE plants SET name = v.name, tag = v.tag, sort_key = v.sort_key, words = v.words
  FROM unnest(${COLUMNS}, $6::text[], $7::text[]) AS v (id, name, tag, sort_key, words, name_before, tag_before)
  WHERE plants.id = ANY ($1::bigint[]) AND plants.id = v.id
    AND plants.name = v.name_before AND plants.tag IS NOT DISTINCT FROM v.tag_before
  RETURNING plants.id`
const DELETE = `DELETE FROM plants USING unnest($1::bigint[], $2::text[], $3::text[]) AS v (id, name_before, tag_before)
  WHERE plants.id = ANY ($1::bigint[]) AND plants.id = v.id
    AND plants.name = v.name_before AND plants.tag IS NOT DISTINCT FROM v.tag_before
  RETURNING plants.id`
const UPDATE_AND_LOG = `WITH done AS (${UPDATE}, plants.created_by), ${logged([8, 9, 10, 11, 12, 13])} ${RETURN_WRITTEN}`
/** The log takes the parameters of the update: to send and read them again took a twentieth of it. */
const UPDATE_ONCE_AND_LOG = `WITH done AS (${UPDATE}, plants.created_by), ${logged([1, 2, 3, 6, 7, 8])} ${RETURN_WRITTEN}`
const DELETE_AND_LOG = `WITH done AS (${DELETE}, plants.created_by), ${logged([4, 5, 6, 7, 8, 9])} ${RETURN_WRITTEN}`

/**
 * @param log the changes to log of the plants that it updates; undefined while the log is switched off
 * @returns the ids of the plants that were equal to `before`, and now are equal to `after`
 */
export async function updatePlants(session: Session, updates: readonly Update[], log?: ChangesById): Promise<bigint[]> {
  const ids: bigint[] = []
  for (const part of logParts(updates, ({ after }) => after.id, log))
    ids.push(...(await updatePart(session, part, log)))
  return ids
}

async function updatePart(
  session: Session,
  updates: readonly Update[],
  log: ChangesById | undefined,
): Promise<readonly bigint[]> {
  const inOrder = updates.toSorted((a, b) => (a.after.id < b.after.id ? -1 : 1))
  const rows = inOrder.map(({ after }) => rowOf(after))
  const values = [...columnsOf(rows), ...textsOf(inOrder.map(({ before }) => before))]
  const changed = inOrder.map(({ after }) => after.id)
  const update = async (run: Run) => {
    if (log === undefined) return idsIn(await run({ name: 'update', text: UPDATE, values }))
    const statement = isEachOnce(changed, log)
      ? { name: 'update-once-and-log', text: UPDATE_ONCE_AND_LOG, values: [...values, tokenValue(changed, log)] }
      : { name: 'update-and-log', text: UPDATE_AND_LOG, values: [...values, ...logValues(changed, log)] }
    return writtenIn(await run(statement), changed)
  }
  const wide = rows.filter(({ blocks }) => blocks.length > 0)
  if (wide.length === 0 && !updates.some(({ before }) => mayBeWide(before))) return update(session.run)
  return session.atomically(async (run) => {
    const ids = await update(run)
    await replaceWideWords(run, ids, wide)
    return ids
  })
}

/**
 * @param log the changes to log of the plants that it deletes; undefined while the log is switched off
 * @returns the ids of the plants that were equal to these, and are now deleted
 */
export async function deletePlants(
  session: Session,
  plants: readonly NewPlant[],
  log?: ChangesById,
): Promise<readonly bigint[]> {
  const ids: bigint[] = []
  for (const part of logParts(plants, ({ id }) => id, log)) ids.push(...(await deletePart(session, part, log)))
  return ids
}

async function deletePart(
  session: Session,
  plants: readonly NewPlant[],
  log: ChangesById | undefined,
): Promise<readonly bigint[]> {
  const ids = plants.map(({ id }) => id)
  const values = [bigintArray(ids), ...textsOf(plants)]
  const remove = async (run: Run) => {
    if (log === undefined) return idsIn(await run({ name: 'delete', text: DELETE, values }))
    const all = [...values, ...logValues(ids, log)]
    return writtenIn(await run({ name: 'delete-and-log', text: DELETE_AND_LOG, values: all }), ids)
  }
  if (!plants.some(mayBeWide)) return remove(session.run)
  return session.atomically(async (run) => {
    const ids = await remove(run)
    await replaceWideWords(run, ids, [])
    return ids
  })
}

const textsOf = (plants: readonly NewPlant[]): Buffer[] => [
  textArray(plants.map(({ name }) => name)),
  textArray(plants.map(({ tag }) => tag)),
]

/**
 * Replaces the rows of plants in wide_words. Call it in the transaction that has written the plants: it holds their
 * locks.
 *
 * @param ids the plants that the transaction has written
 * @param wide rows of plants with blocks, whether written or not
 */
async function replaceWideWords(run: Run, ids: readonly bigint[], wide: readonly PlantRow[]): Promise<void> {
  if (ids.length === 0) return
  // An instance of an earlier version leaves the rows of a plant that it deletes.
  await run({ name: 'remove-wide', text: DELETE_WIDE, values: [bigintArray(ids)] })
  const written = new Set(ids)
  const rows = wide
    .filter(({ id }) => written.has(id))
    .flatMap(({ id, blocks }) => blocks.map((block) => ({ id, ...block })))
  if (rows.length === 0) return
  const values = [
    bigintArray(rows.map(({ id }) => id)),
    textArray(rows.map(({ first }) => first)),
    textArray(rows.map(({ until }) => until)),
    textArray(rows.map(({ words }) => words)),
  ]
  await run({ name: 'insert-wide', text: INSERT_WIDE, values })
}

const DELETE_WIDE = 'DELETE FROM wide_words WHERE plant = ANY ($1::bigint[])'
const INSERT_WIDE = `INSERT INTO wide_words (plant, first, until, words)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[])`
