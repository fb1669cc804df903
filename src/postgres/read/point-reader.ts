import type { NewPlant } from '../../plant.ts'
import { bigintArray } from '../binary-arrays.ts'
import type { Run } from '../pool/client.ts'
import { plantOf } from '../rows.ts'

const SELECTS = {
  plants: 'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[])',
  tried: 'SELECT id, name, tag FROM tried WHERE id = ANY ($1::bigint[])',
}

/** Plants by their ids, in any order. */
export async function selectPlants(
  run: Run,
  wanted: readonly { readonly id: bigint }[],
  from: keyof typeof SELECTS = 'plants',
): Promise<NewPlant[]> {
  if (wanted.length === 0) return []
  const values = [bigintArray(wanted.map(({ id }) => id))]
  return (await run({ name: `select-${from}`, text: SELECTS[from], values })).rows.map(plantOf)
}

/** The plant of each id; undefined where there is none. */
export async function getPlants(run: Run, ids: readonly bigint[]): Promise<(NewPlant | undefined)[]> {
  const found = await selectPlants(
    run,
    ids.map((id) => ({ id })),
  )
  const byId = new Map(found.map((plant) => [plant.id, plant]))
  return ids.map((id) => byId.get(id))
}
