import { AppError } from '../../domain/errors.ts'
import type { NewPlant } from '../../domain/plant.ts'
import type { ImportMode, ImportResult } from '../../domain/store.ts'
import { type PoolShare, type Session, sessionOf } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, refusalOf } from '../rows.ts'
import type { Shard } from '../sharding/shard-map.ts'
import type { Shards } from '../sharding/shards.ts'
import { decideImport } from './decide-import.ts'
import { insertPlants, putPlants } from './insert.ts'
import { type Update, updatePlants } from './update.ts'

/**
 * Imports plants shard by shard, several shards at once. Each shard has its own statements, because a transaction over
 * several shards needs a two-phase commit. After an error, some shards may hold their plants.
 */
export async function importByShard(
  share: PoolShare,
  shards: Shards,
  plants: readonly NewPlant[],
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
    const some = indexes.map((i) => plants[i] as NewPlant)
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

function groupsOf({ map }: Shards, plants: readonly NewPlant[]): Map<Shard, number[]> {
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

async function add(session: Session, plants: readonly NewPlant[]): Promise<ImportResult[]> {
  const firsts = new Map<bigint, NewPlant>()
  for (const plant of plants) {
    if (!firsts.has(plant.id) && refusalOf(plant) === undefined) firsts.set(plant.id, plant)
  }
  return decideImport(plants, 'add', await putPlants(session, [...firsts.values()], true)).results
}

/** Decides a plant again when a concurrent write changed it first. */
async function update(session: Session, plants: readonly NewPlant[]): Promise<ImportResult[]> {
  const results: ImportResult[] = []
  for (let open = [...plants.keys()]; open.length > 0; ) {
    const wanted = open.map((i) => plants[i] as NewPlant)
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
    const done = new Set([...(await insertPlants(session, added, true)), ...(await updatePlants(session, updated))])
    const isLost = new Set(changed.map(({ id }) => id).filter((id) => !done.has(id)))
    for (const [at, i] of open.entries()) results[i] = now[at] as ImportResult
    open = open.filter((i) => isLost.has((plants[i] as NewPlant).id))
  }
  return results
}
