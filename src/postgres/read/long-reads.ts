import type { NewPlant } from '../../plant.ts'
import { matches, type PlantFilter, type PlantOrder } from '../../plant-query.ts'
import type { ImportMode, ImportResult } from '../../store.ts'
import { budgetOf } from '../pool/budget.ts'
import { type Client, PLANNER_SETTINGS, type Run, type Statement } from '../pool/client.ts'
import { COLUMNS, columnsOf, plantOf, refusalOf } from '../rows.ts'
import { byId, imported } from '../write/writer.ts'
import { selectPlants, selectStatement } from './query-reader.ts'

/** How long one step may take, in ms: a filter may skip many plants until it finds one. */
const STEP = 10 * 60_000
/** Plants in one chunk: at most, at first, and as many later as have about so many UTF-16 units of text. */
const CHUNK = 1000
const FIRST_CHUNK = 100
const CHUNK_TEXT = 4 * 2 ** 20

/**
 * All plants of a filter, from one moment on, on a connection that nobody else uses meanwhile. The transaction is left
 * open; ending the connection ends it.
 */
export async function* exported(
  client: Client,
  filter: PlantFilter,
  order: PlantOrder,
  signal?: AbortSignal,
): AsyncGenerator<readonly NewPlant[], void, void> {
  const run = await beginLongRead(client, signal)
  // All of it will be read, so the fastest plan for all of it is wanted, and not for the first rows.
  await run({ text: 'SET LOCAL cursor_tuple_fraction = 1' })
  const { text, values } = selectStatement(filter, order)
  await run({ text: `DECLARE export NO SCROLL CURSOR FOR ${text}`, values })
  for (let size = FIRST_CHUNK; ; ) {
    const { rows } = await run({ text: `FETCH ${size} FROM export` })
    if (rows.length === 0) return
    const plants = rows.map(plantOf)
    const meant = plants.filter((plant) => matches(filter, plant))
    if (meant.length > 0) yield meant
    const text = plants.reduce((sum, { name, tag }) => sum + name.length + (tag?.length ?? 0), 0)
    size = Math.max(1, Math.min(CHUNK, Math.floor((CHUNK_TEXT * plants.length) / (text + 1))))
  }
}

/** How many plants there are, on such a connection as `exported` needs. */
export async function countPlants(client: Client): Promise<number> {
  const run = await beginLongRead(client)
  const { rows } = await run({ text: 'SELECT count(*) FROM plants' })
  return Number(rows[0]?.[0])
}

/** Between two chunks it also waits for whoever takes them, slowly perhaps. */
async function beginLongRead(client: Client, signal?: AbortSignal): Promise<Run> {
  const run: Run = (statement) => client.run(statement, budgetOf(STEP, signal))
  await run({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' })
  await run({
    text: `SET LOCAL statement_timeout = ${STEP}; SET LOCAL idle_in_transaction_session_timeout = ${STEP};
      ${PLANNER_SETTINGS.map(([name]) => `SET LOCAL ${name} TO DEFAULT`).join(';')}`,
  })
  return run
}

/** An import that stores nothing: what it would have stored lies in a temporary table of its client. */
export class Trial {
  readonly #client: Client
  readonly #mode: ImportMode
  #hasTable = false

  constructor(client: Client, mode: ImportMode) {
    this.#client = client
    this.#mode = mode
  }

  async tryPlants(plants: readonly NewPlant[]): Promise<ImportResult[]> {
    const run = (statement: Statement) => this.#client.run(statement)
    if (!this.#hasTable) {
      await run({ text: 'CREATE TEMPORARY TABLE tried (id bigint PRIMARY KEY, name text NOT NULL, tag text)' })
      this.#hasTable = true
    }
    const wanted = plants.filter((plant) => refusalOf(plant) === undefined)
    const there = byId([...(await selectPlants(run, wanted)), ...(await selectPlants(run, wanted, 'tried'))])
    const { results, changed } = imported(plants, this.#mode, there)
    if (changed.length > 0) await run({ name: 'try', text: TRY, values: columnsOf(changed) })
    return results
  }
}

const TRY = `INSERT INTO tried SELECT id, name, tag FROM unnest(${COLUMNS}) AS v (id, name, tag, sort_key, words)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag`
