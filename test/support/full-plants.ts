import assert from 'node:assert/strict'
import { MAX_NAME, MAX_TAG, type NewPlant, newPlantJson } from '../../src/domain/plant.ts'
import { TOKEN } from './process.ts'

/**
 * Plants as large as they can be, each with a name and a tag of its own.
 *
 * @param unit one character (code point)
 */
export const fullPlants = (count: number, { from = 0, unit = 'x' } = {}): NewPlant[] =>
  Array.from({ length: count }, (_, i) => {
    const id = BigInt(from + i)
    const own = `${id} `
    return { id, name: own + unit.repeat(MAX_NAME - own.length), tag: own + unit.repeat(MAX_TAG - own.length) }
  })

/** Imports plants over HTTP. */
export const sendRows = (address: string, plants: readonly NewPlant[]): Promise<Response> =>
  fetch(`${address}/plants/import`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/x-ndjson' },
    body: plants.map((plant) => `${newPlantJson(plant)}\n`).join(''),
  })

export async function importRows(address: string, plants: readonly NewPlant[]): Promise<void> {
  const answer = await sendRows(address, plants)
  assert.equal(answer.status, 200, await answer.text())
}
