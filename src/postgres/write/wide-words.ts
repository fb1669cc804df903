import { bigintArray, textArray } from '../binary-arrays.ts'
import type { Run } from '../pool/client.ts'
import type { PlantRow } from '../rows.ts'

/**
 * Replaces the rows of plants in wide_words. Call it in the transaction that has written the plants: it holds their
 * locks.
 *
 * @param ids the plants that the transaction has written
 * @param wide rows of plants with blocks, whether written or not
 */
export async function replaceWideWords(run: Run, ids: readonly bigint[], wide: readonly PlantRow[]): Promise<void> {
  if (ids.length === 0) return
  // An instance of an earlier version leaves the rows of a plant that it deletes.
  await run({ name: 'remove-wide', text: DELETE, values: [bigintArray(ids)] })
  const written = new Set(ids)
  const rows = wide
    .filter(({ id }) => written.has(id))
    .flatMap(({ id, blocks }) => blocks.map((block) => ({ id, ...block })))
  if (rows.length === 0) return
  const values = [
    bigintArray(rows.map(({ id }) => id)),
    textArray(rows.map(({ first }) => first)),
    textArray(rows.map(({ until }) => until)),
    textArray(rows.map(({ words }) => words)),
  ]
  await run({ name: 'insert-wide', text: INSERT, values })
}

const DELETE = 'DELETE FROM wide_words WHERE plant = ANY ($1::bigint[])'
const INSERT = `INSERT INTO wide_words (plant, first, until, words)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[])`
