import type { NewPlant } from '../../domain/plant.ts'
import type { PlantFilter, PlantOrder } from '../../domain/plant-query.ts'
import { budgetOf, type Client, PLANNER_SETTINGS, type Run } from '../pool/client.ts'
import { plantOf } from '../rows.ts'
import { matching } from './search.ts'
import { conditionsOf, ordering, where } from './search-conditions.ts'

/** Milliseconds for one statement: a filter may skip many plants until it finds one. */
const STEP = 10 * 60_000
const CHUNK = 1000

/** Takes note of a snapshot. Returns false if it is too late, so that a new snapshot must be taken. */
export type OnSnapshot = (snapshot: string) => Promise<boolean>

/**
 * Yields all plants of a filter from one snapshot, on a dedicated client. Leaves the transaction open; the end of the
 * client ends it.
 */
export async function* exported(
  client: Client,
  filter: PlantFilter,
  order: PlantOrder,
  signal?: AbortSignal,
  onSnapshot?: OnSnapshot,
): AsyncGenerator<readonly NewPlant[], void, void> {
  const run = onSnapshot === undefined ? await beginLongRead(client, signal) : await beginAt(client, signal, onSnapshot)
  // An export reads all rows, so the planner must not prefer a plan that is fast for the first rows.
  await run({ text: 'SET LOCAL cursor_tuple_fraction = 1' })
  const { text, values } = selectStatement(filter, order)
  await run({ text: `DECLARE export NO SCROLL CURSOR FOR ${text}`, values })
  for await (const plants of plantsAt(run, 'export')) {
    const meant = await matching(filter, plants)
    if (meant.length > 0) yield meant
  }
}

async function* plantsAt(run: Run, cursor: string): AsyncGenerator<readonly NewPlant[], void, void> {
  for (;;) {
    const { rows } = await run({ text: `FETCH ${CHUNK} FROM ${cursor}` })
    if (rows.length === 0) return
    yield rows.map(plantOf)
  }
}

/** Selects the plants of a filter, in order. The index of words may add a few plants that do not match. */
function selectStatement(filter: PlantFilter, order: PlantOrder): { text: string; values: unknown[] } {
  const values: unknown[] = []
  const conditions = conditionsOf(filter, (value) => `$${values.push(value)}`)
  return { text: `SELECT id, name, tag FROM plants ${where(conditions)} ORDER BY ${ordering(order)}`, values }
}

/** Counts the plants, on a dedicated client. Leaves the transaction open; the end of the client ends it. */
export async function countPlants(client: Client): Promise<number> {
  const run = await beginLongRead(client)
  const { rows } = await run({ text: 'SELECT count(*) FROM plants' })
  return Number(rows[0]?.[0])
}

/** Begins a transaction whose snapshot `onSnapshot` has noted. */
async function beginAt(client: Client, signal: AbortSignal | undefined, onSnapshot: OnSnapshot): Promise<Run> {
  for (;;) {
    const run = await beginLongRead(client, signal)
    const snapshot = (await run({ text: 'SELECT pg_current_snapshot()' })).rows[0]?.[0] ?? ''
    if (await onSnapshot(snapshot)) return run
    await run({ text: 'ROLLBACK' })
  }
}

/** Begins a transaction with default plans. Allows STEP for each statement, and between two for a slow reader. */
async function beginLongRead(client: Client, signal?: AbortSignal): Promise<Run> {
  const run: Run = (statement) => client.run(statement, budgetOf(STEP, signal))
  await run({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' })
  await run({
    text: `SET LOCAL statement_timeout = ${STEP}; SET LOCAL idle_in_transaction_session_timeout = ${STEP};
      ${PLANNER_SETTINGS.map(([name]) => `SET LOCAL ${name} TO DEFAULT`).join(';')}`,
  })
  return run
}
