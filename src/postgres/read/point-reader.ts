import type { NewPlant } from '../../domain/plant.ts'
import type { LazySignal } from '../../domain/store.ts'
import { type GroupOptions, type MakeGroups, TimedGroups } from '../groups.ts'
import type { Budget, Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { bigintArray, byId, plantOf } from '../rows.ts'

type Wanted = readonly { readonly id: bigint }[]

type Row = { readonly id: bigint; readonly caller: LazySignal | undefined }

/** Reads plants by id. Concurrent look-ups share a statement. */
export class PointReader {
  readonly #reads: TimedGroups<Row, NewPlant | undefined>

  constructor(share: PoolShare, makeGroups: MakeGroups, options: GroupOptions) {
    this.#reads = new TimedGroups(findAll(share), makeGroups, options, { idOf: ({ id }: Row) => id })
  }

  get(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    return this.#reads.submit({ id, caller })
  }

  /** Refuses new look-ups, and resolves after the waiting ones. */
  async close(): Promise<void> {
    await this.#reads.groups.close()
  }
}

/** Leaves out look-ups whose callers left. */
const findAll =
  (share: PoolShare) =>
  async (rows: readonly Row[], budget: Budget): Promise<(NewPlant | undefined)[]> => {
    const wanted = rows.filter(({ caller }) => caller?.isOver !== true)
    const found = byId(await selectPlants(share.within(budget), wanted))
    return rows.map(({ id }) => found.get(id))
  }

const SELECTS = {
  plants: 'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[])',
  tried: 'SELECT id, name, tag FROM tried WHERE id = ANY ($1::bigint[])',
}

/** A plan of one id is the cheapest, above all on a sharded store. */
const SELECT_ONE = 'SELECT id, name, tag FROM plants WHERE id = $1'

/** Returns the plants of these ids that exist, in any order. */
export async function selectPlants(
  run: Run,
  wanted: Wanted,
  from: keyof typeof SELECTS = 'plants',
): Promise<NewPlant[]> {
  const [first] = wanted
  if (first === undefined) return []
  if (wanted.length === 1 && from === 'plants') {
    return (await run({ name: 'select-one', text: SELECT_ONE, values: [String(first.id)] })).rows.map(plantOf)
  }
  const values = [bigintArray(wanted.map(({ id }) => id))]
  return (await run({ name: `select-${from}`, text: SELECTS[from], values })).rows.map(plantOf)
}
