import type { NewPlant } from '../../domain/plant.ts'
import type { LazySignal } from '../../domain/store.ts'
import type { GroupWork } from '../groups.ts'
import type { Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { bigintArray, byId, plantOf } from '../rows.ts'

type Wanted = readonly { readonly id: bigint }[]

export type Wish = { readonly id: bigint; readonly caller: LazySignal | undefined }

/** Reads plants by id, where concurrent look-ups share a statement. Leaves out look-ups whose callers left. */
export const findPlants =
  (share: PoolShare): GroupWork<Wish, NewPlant | undefined> =>
  async (wishes, budget) => {
    const wanted = wishes.filter(({ caller }) => caller?.isOver !== true)
    const found = byId(await selectPlants(share.within(budget), wanted))
    return wishes.map(({ id }) => found.get(id))
  }

const SELECT = 'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[])'

/** A plan of one id is the cheapest. */
const SELECT_ONE = 'SELECT id, name, tag FROM plants WHERE id = $1'

/** Returns the plants of these ids that exist, in any order. */
export async function selectPlants(run: Run, wanted: Wanted): Promise<NewPlant[]> {
  const [first] = wanted
  if (first === undefined) return []
  if (wanted.length === 1) {
    return (await run({ name: 'select-one', text: SELECT_ONE, values: [String(first.id)] })).rows.map(plantOf)
  }
  const values = [bigintArray(wanted.map(({ id }) => id))]
  return (await run({ name: 'select-plants', text: SELECT, values })).rows.map(plantOf)
}
