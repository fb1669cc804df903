import type { NewPlant } from '../../domain/plant.ts'
import type { Run, Statement } from '../pool/client.ts'
import type { Session } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { COLUMNS, columnsOf, idsIn, type PlantRow, rowOf, valuesOf } from '../rows.ts'
import { replaceWideWords } from './wide-words.ts'

/** Inserts in the order of ids, so that two groups with the same ids can not deadlock. */
const INSERT = `INSERT INTO plants (id, name, tag, sort_key, words) SELECT * FROM unnest(${COLUMNS}) ORDER BY 1
  ON CONFLICT (id) DO NOTHING RETURNING id`

/** Maximum number of rows in one statement with VALUES. */
const MAX_ROWS = 512
/** Numbers of rows that have a statement: few, so that the server keeps the plan of each. */
const SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 256, 384, MAX_ROWS]

/** Inserts the plants whose ids are free. @returns the present plants of all other ids */
export async function putPlants(
  session: Session,
  plants: readonly NewPlant[],
  isDistributed: boolean,
): Promise<Map<bigint, NewPlant>> {
  const there = new Map<bigint, NewPlant>()
  for (let rest = plants; rest.length > 0; ) {
    const created = new Set(await insertPlants(session, rest, isDistributed))
    rest = rest.filter(({ id }) => !created.has(id))
    for (const plant of await selectPlants(session.run, rest)) there.set(plant.id, plant)
    // A concurrent write deleted the plants of the remaining ids. Retry.
    rest = rest.filter(({ id }) => !there.has(id))
  }
  return there
}

/**
 * @param isDistributed whether the table is distributed; these plants should then lie on one shard
 * @returns the ids of the plants that it inserted; the other ids exist
 */
export async function insertPlants(
  session: Session,
  plants: readonly NewPlant[],
  isDistributed: boolean,
): Promise<bigint[]> {
  if (plants.length === 0) return []
  const rows = plants.map(rowOf)
  const insert = (run: Run) => (isDistributed ? insertByValues(run, rows) : insertGroup(run, rows, insertColumns(rows)))
  const wide = rows.filter(({ blocks }) => blocks.length > 0)
  if (wide.length === 0) return insert(session.run)
  return session.atomically(async (run) => {
    const ids = await insert(run)
    await replaceWideWords(run, ids, wide)
    return ids
  })
}

async function insertByValues(run: Run, rows: readonly PlantRow[]): Promise<bigint[]> {
  const ids: bigint[] = []
  for (let i = 0; i < rows.length; i += MAX_ROWS) {
    const some = rows.slice(i, i + MAX_ROWS)
    ids.push(...(await insertGroup(run, some, insertValues(some))))
  }
  return ids
}

async function insertGroup(run: Run, rows: readonly PlantRow[], statement: Statement): Promise<bigint[]> {
  const outcome = await run(statement)
  return outcome.count === rows.length ? rows.map(({ id }) => id) : idsIn(outcome)
}

const insertColumns = (rows: readonly PlantRow[]): Statement => ({
  name: 'insert',
  text: INSERT,
  values: columnsOf(rows),
})

/** Citus routes the rows of VALUES to their shard. It would first collect the rows of a SELECT on the coordinator. */
function insertValues(rows: readonly PlantRow[]): Statement {
  const values = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(valuesOf)
  const size = SIZES.find((each) => each >= rows.length) ?? MAX_ROWS
  // A repeated row conflicts with the row before it, so it inserts nothing.
  const last = values.at(-1) ?? []
  while (values.length < size) values.push(last)
  return { name: `insert-${size}`, text: TEXTS[size] ?? '', values: values.flat() }
}

const TEXTS: Readonly<Record<number, string>> = Object.fromEntries(SIZES.map((size) => [size, textFor(size)]))

function textFor(size: number): string {
  const rows = Array.from({ length: size }, (_, i) => {
    const [id, name, tag, key, words] = [1, 2, 3, 4, 5].map((column) => `$${5 * i + column}`)
    return `(${id}::bigint, ${name}::text, ${tag}::text, ${key}::text, ${words}::tsvector)`
  })
  return `INSERT INTO plants (id, name, tag, sort_key, words) VALUES ${rows.join(', ')}
    ON CONFLICT (id) DO NOTHING RETURNING id`
}
