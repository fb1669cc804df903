import { AppError } from '../../domain/errors.ts'
import type { ImportedPlant, ImportMode, ImportResult, NewPlant } from '../../domain/plant.ts'
import type { MakeGroups } from '../groups.ts'
import type { Run, Statement } from '../pool/client.ts'
import { type PoolShare, type Session, sessionOf } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, type PlantRow, refusalOf, valuesOf } from '../rows.ts'
import {
  type Insert,
  insertColumns,
  insertGroup,
  insertPlants,
  putPlants,
  type Update,
  updatePlants,
} from '../write/write-plants.ts'
import { decideImport } from '../write/writer.ts'
import { ShardGroups } from './shard-groups.ts'
import type { Shard } from './shard-map.ts'
import { Shards } from './shards.ts'

/**
 * All that a store does in another way where Citus distributes the plants (docs/decisions/0030-shards.md). A store may
 * be distributed while it is served. Elsewhere, everything is as without this class.
 */
export class Sharding extends Shards {
  readonly #imports: PoolShare

  constructor(main: PoolShare, imports: PoolShare) {
    super(main)
    this.#imports = imports
  }

  readonly makeGroups: MakeGroups = (commit, options) => new ShardGroups(this, commit, options)

  readonly insert: Insert = (run, rows, log) =>
    this.map === undefined ? insertColumns(run, rows, log) : insertValues(run, rows)

  /** Returns undefined where the plants are not distributed. */
  importPlants(plants: readonly ImportedPlant[], mode: ImportMode): Promise<ImportResult[]> | undefined {
    return this.map === undefined ? undefined : importByShard(this.#imports, this, plants, mode)
  }
}

/**
 * Imports plants shard by shard, several shards at once. Each shard has its own statements, because a transaction over
 * several shards needs a two-phase commit. After an error, some shards may hold their plants.
 */
async function importByShard(
  share: PoolShare,
  shards: Shards,
  plants: readonly ImportedPlant[],
  mode: ImportMode,
): Promise<ImportResult[]> {
  const groups = groupsOf(shards, plants)
  for (const shard of groups.keys()) {
    const refusal = shards.refusalOf(shard)
    if (refusal !== undefined) throw refusal
  }
  const results: ImportResult[] = []
  const budget = share.budget()
  const all = [...groups].map(async ([shard, indexes]) => {
    const some = indexes.map((i) => plants[i] as ImportedPlant)
    const put = (session: Session) => (mode === 'add' ? add(session, some) : update(session, some))
    try {
      const done = await share.transaction('BEGIN', (run) => put(sessionOf(run)), budget)
      for (const [at, i] of indexes.entries()) results[i] = done[at] as ImportResult
    } catch (error) {
      if (!(error instanceof AppError)) shards.failed(shard, error)
      throw error
    }
  })
  // The caller continues only after the last statement has ended, also when one has failed.
  const failed = (await Promise.allSettled(all)).find((outcome) => outcome.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return results
}

function groupsOf({ map }: Shards, plants: readonly ImportedPlant[]): Map<Shard, number[]> {
  const groups = new Map<Shard, number[]>()
  for (const [i, { id }] of plants.entries()) {
    const shard = map?.shardOf(id)
    if (shard === undefined) continue
    const group = groups.get(shard)
    if (group === undefined) groups.set(shard, [i])
    else group.push(i)
  }
  return groups
}

async function add(session: Session, plants: readonly ImportedPlant[]): Promise<ImportResult[]> {
  const firsts = new Map<bigint, NewPlant>()
  for (const plant of plants) {
    if (!firsts.has(plant.id) && refusalOf(plant) === undefined) firsts.set(plant.id, plant)
  }
  return decideImport(plants, 'add', await putPlants(session, [...firsts.values()], insertValues)).results
}

/** Decides a plant again when a concurrent write changed it first. */
async function update(session: Session, plants: readonly ImportedPlant[]): Promise<ImportResult[]> {
  const results: ImportResult[] = []
  for (let open = [...plants.keys()]; open.length > 0; ) {
    const wanted = open.map((i) => plants[i] as ImportedPlant)
    const present = byId(
      await selectPlants(
        session.run,
        wanted.filter((plant) => refusalOf(plant) === undefined),
      ),
    )
    const { results: now, changed } = decideImport(wanted, 'update', present)
    const added = changed.filter(({ id }) => !present.has(id))
    const updated = changed.flatMap((after): Update[] => {
      const before = present.get(after.id)
      return before === undefined ? [] : [{ before, after }]
    })
    const done = new Set([
      ...(await insertPlants(session, added, insertValues)),
      ...(await updatePlants(session, updated)),
    ])
    const isLost = new Set(changed.map(({ id }) => id).filter((id) => !done.has(id)))
    for (const [at, i] of open.entries()) results[i] = now[at] as ImportResult
    open = open.filter((i) => isLost.has((plants[i] as NewPlant).id))
  }
  return results
}

/** Maximum number of rows in one statement. */
const MAX_ROWS = 512
/** Numbers of rows that have a statement: few, so that the server keeps the plan of each. */
const SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 256, 384, MAX_ROWS]

/**
 * Inserts rows that should lie on one shard. Citus routes the rows of VALUES to their shard. It would first collect the
 * rows of a SELECT on the coordinator.
 *
 * @returns the ids of the inserted rows
 */
async function insertValues(run: Run, rows: readonly PlantRow[]): Promise<bigint[]> {
  const ids: bigint[] = []
  for (let i = 0; i < rows.length; i += MAX_ROWS) {
    const some = rows.slice(i, i + MAX_ROWS)
    ids.push(...(await insertGroup(run, some, statementOf(some))))
  }
  return ids
}

function statementOf(rows: readonly PlantRow[]): Statement {
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
