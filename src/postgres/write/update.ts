import type { NewPlant } from '../../domain/plant.ts'
import { bigintArray, textArray } from '../binary-arrays.ts'
import type { Run } from '../pool/client.ts'
import type { Session } from '../pool/pool-share.ts'
import { COLUMNS, columnsOf, idsIn, rowOf } from '../rows.ts'
import { mayBeWide } from '../search-terms.ts'
import { replaceWideWords } from './wide-words.ts'

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
export async function updatePlants(session: Session, updates: readonly Update[]): Promise<bigint[]> {
  if (updates.length === 0) return []
  const inOrder = updates.toSorted((a, b) => (a.after.id < b.after.id ? -1 : 1))
  const rows = inOrder.map(({ after }) => rowOf(after))
  const values = [...columnsOf(rows), ...textsOf(inOrder.map(({ before }) => before))]
  const update = async (run: Run) => idsIn(await run({ name: 'update', text: UPDATE, values }))
  const wide = rows.filter(({ blocks }) => blocks.length > 0)
  if (wide.length === 0 && !updates.some(({ before }) => mayBeWide(before))) return update(session.run)
  return session.atomically(async (run) => {
    const ids = await update(run)
    await replaceWideWords(run, ids, wide)
    return ids
  })
}

/** @returns the ids of the plants that were equal to these, and are now deleted */
export async function deletePlants(session: Session, plants: readonly NewPlant[]): Promise<bigint[]> {
  if (plants.length === 0) return []
  const values = [bigintArray(plants.map(({ id }) => id)), ...textsOf(plants)]
  const remove = async (run: Run) => idsIn(await run({ name: 'delete', text: DELETE, values }))
  if (!plants.some(mayBeWide)) return remove(session.run)
  return session.atomically(async (run) => {
    const ids = await remove(run)
    await replaceWideWords(run, ids, [])
    return ids
  })
}

const textsOf = (plants: readonly NewPlant[]): Buffer[] => [
  textArray(plants.map(({ name }) => name)),
  textArray(plants.map(({ tag }) => tag)),
]
