import type { NewPlant } from '../domain/plant.ts'
import type { Swap } from '../postgres/changes/log-rows.ts'
import type { Run, Statement } from '../postgres/pool/client.ts'
import { selectPlants } from '../postgres/read/point-reader.ts'
import { idsIn, type PlantRow, rowsOf, tsvector } from '../postgres/rows.ts'
import { PlantTable, type Write } from '../postgres/write/write-plants.ts'

/**
 * The table of plants where Citus distributes it. Citus passes a statement on to a shard if all of its plants are there;
 * a statement on several shards is right, but slow.
 */
export class ShardedPlants extends PlantTable {
  /** Locks nothing: Citus refuses FOR UPDATE for plants of several shards, as of a shard that was split meanwhile. */
  override lock(run: Run, wanted: readonly { readonly id: bigint }[]): Promise<NewPlant[]> {
    return selectPlants(run, wanted)
  }

  override async write(run: Run, write: Write, swaps: readonly Swap[]): Promise<bigint[]> {
    // These find the shard of the rows by `plants.id = ANY`.
    if (write !== 'insert') return super.write(run, write, swaps)
    const inOrder = (await rowsOf(swaps)).sort((a, b) => (a.id < b.id ? -1 : 1))
    const ids: bigint[] = []
    for (let i = 0; i < inOrder.length; i += MAX_ROWS) {
      ids.push(...idsIn(await run(insertOf(inOrder.slice(i, i + MAX_ROWS)))))
    }
    return ids
  }
}

/** Maximum number of rows in one statement. */
const MAX_ROWS = 512
/** Numbers of rows that have a statement: few, so that the server keeps the plan of each. */
const SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 256, 384, MAX_ROWS]

/** Citus routes the rows of VALUES to their shard. It would first collect the rows of a SELECT on the coordinator. */
function insertOf(rows: readonly PlantRow[]): Statement {
  const values = rows.map(({ id, name, tag, key, words }) => [String(id), name, tag, key, tsvector(words)])
  const size = SIZES.find((each) => each >= rows.length) ?? MAX_ROWS
  // A repeated row conflicts with the row before it, so it inserts nothing.
  const last = values.at(-1) ?? []
  while (values.length < size) values.push(last)
  return { name: `insert-${size}`, text: insertText(size), values: values.flat() }
}

function insertText(size: number): string {
  const rows = Array.from({ length: size }, (_, i) => {
    const [id, name, tag, key, words] = [1, 2, 3, 4, 5].map((column) => `$${5 * i + column}`)
    return `(${id}::bigint, ${name}::text, ${tag}::text, ${key}::text, ${words}::tsvector)`
  })
  return `INSERT INTO plants (id, name, tag, sort_key, words) VALUES ${rows.join(', ')}
    ON CONFLICT (id) DO NOTHING RETURNING id`
}
