import type { NewPlant } from '../../domain/plant.ts'
import type { LazySignal } from '../../domain/store.ts'
import { type GroupOptions, type MakeGroups, TimedGroups } from '../groups.ts'
import type { Budget, Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { bigintArray, byId, plantOf } from '../rows.ts'

/** Maximum number of UTF-8 bytes of a small plant. */
const SMALL = 2 ** 16
/** Large plants in one statement: this process holds their texts until it has received all of them. */
const LARGE_AT_ONCE = 2

type Wanted = readonly { readonly id: bigint }[]

/** A plant of more than SMALL bytes. */
interface LargePlant {
  readonly id: bigint
  readonly isLarge: true
}

type Row = { readonly id: bigint; readonly caller: LazySignal | undefined }

/**
 * Reads plants by id. Concurrent look-ups share a statement. A second statement reads large plants, few at a time, so
 * that they delay no small ones.
 */
export class PointReader {
  readonly #timeout: number
  readonly #small: TimedGroups<Row, NewPlant | LargePlant | undefined>
  readonly #large: TimedGroups<Row, NewPlant | undefined>

  constructor(share: PoolShare, makeGroups: MakeGroups, options: GroupOptions) {
    this.#timeout = options.timeout
    const limits = { idOf: ({ id }: Row) => id, weigh: () => 1 }
    this.#small = new TimedGroups(findAll(share, selectSmallPlants), makeGroups, options, limits)
    this.#large = new TimedGroups(findAll(share, selectPlants), makeGroups, options, {
      ...limits,
      maxGroup: LARGE_AT_ONCE,
      maxInFlight: 1,
    })
  }

  async get(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    const deadline = performance.now() + this.#timeout
    const plant = await this.#small.submit({ id, caller }, deadline)
    if (plant === undefined || !('isLarge' in plant)) return plant
    return this.#large.submit({ id, caller }, deadline)
  }

  /** Refuses new look-ups, and resolves after the waiting ones. */
  async close(): Promise<void> {
    await this.#small.groups.close()
    await this.#large.groups.close()
  }
}

/** Leaves out look-ups whose callers left. */
const findAll =
  <Plant extends { readonly id: bigint }>(share: PoolShare, select: (run: Run, wanted: Wanted) => Promise<Plant[]>) =>
  async (rows: readonly Row[], budget: Budget): Promise<(Plant | undefined)[]> => {
    const wanted = rows.filter(({ caller }) => caller?.isOver !== true)
    const found = byId(await select(share.within(budget), wanted))
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

const SIZE = 'octet_length(name) + coalesce(octet_length(tag), 0)'
/** `octet_length` of a text needs no read of its TOAST table. */
const SELECT_SMALL = `SELECT id, CASE WHEN ${SIZE} <= ${SMALL} THEN name END, CASE WHEN ${SIZE} <= ${SMALL} THEN tag END
  FROM plants WHERE id = ANY ($1::bigint[])`

/** Returns the plants of these ids that exist: small plants, and the ids of large ones. */
async function selectSmallPlants(run: Run, wanted: Wanted): Promise<(NewPlant | LargePlant)[]> {
  if (wanted.length === 0) return []
  const values = [bigintArray(wanted.map(({ id }) => id))]
  const { rows } = await run({ name: 'select-small', text: SELECT_SMALL, values })
  return rows.map((row) => (row[1] === null ? { id: BigInt(row[0] ?? ''), isLarge: true } : plantOf(row)))
}
