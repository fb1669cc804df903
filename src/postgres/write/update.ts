import type { NewPlant } from '../../plant.ts'
import { bigintArray, textArray } from '../binary-arrays.ts'
import type { Run } from '../pool/client.ts'
import { COLUMNS, columnsOf, idsIn } from '../rows.ts'

/** A plant before and after a change; both have the same id. */
export interface Update {
  readonly before: NewPlant
  readonly after: NewPlant
}

/** `plants.id = ANY` lets Citus find the shards of the rows (docs/guides/scale-out.md). */
const UPDATE = `UPDATE plants SET name = v.name, tag = v.tag, sort_key = v.sort_key, words = v.words
  FROM unnest(${COLUMNS}, $6::text[], $7::text[]) AS v (id, name, tag, sort_key, words, name_before, tag_before)
  WHERE plants.id = ANY ($1::bigint[]) AND plants.id = v.id
    AND plants.name = v.name_before AND plants.tag IS NOT DISTINCT FROM v.tag_before
  RETURNING plants.id`
const DELETE = `DELETE FROM plants USING unnest($1::bigint[], $2::text[], $3::text[]) AS v (id, name_before, tag_before)
  WHERE plants.id = ANY ($1::bigint[]) AND plants.id = v.id
    AND plants.name = v.name_before AND plants.tag IS NOT DISTINCT FROM v.tag_before
  RETURNING plants.id`

/** @returns the ids of the plants that were equal to `before`, and now are equal to `after` */
export async function updatePlants(run: Run, updates: readonly Update[]): Promise<bigint[]> {
  if (updates.length === 0) return []
  const inOrder = updates.toSorted((a, b) => (a.after.id < b.after.id ? -1 : 1))
  const values = [...columnsOf(inOrder.map(({ after }) => after)), ...textsOf(inOrder.map(({ before }) => before))]
  return idsIn(await run({ name: 'update', text: UPDATE, values }))
}

/** @returns the ids of the plants that were equal to these, and are now deleted */
export async function deletePlants(run: Run, plants: readonly NewPlant[]): Promise<bigint[]> {
  if (plants.length === 0) return []
  const values = [bigintArray(plants.map(({ id }) => id)), ...textsOf(plants)]
  return idsIn(await run({ name: 'delete', text: DELETE, values }))
}

const textsOf = (plants: readonly NewPlant[]): Buffer[] => [
  textArray(plants.map(({ name }) => name)),
  textArray(plants.map(({ tag }) => tag)),
]
