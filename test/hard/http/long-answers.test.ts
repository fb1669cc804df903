import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewPlant } from '../../../src/domain/plant.ts'
import { TESTER } from '../../support/actor.ts'
import { fullPlants } from '../../support/full-plants.ts'
import { withService } from '../../support/service.ts'

/** Long answers that one token asks for at once. */
const MANY = 40
const PLACES_OF_TOKEN = 4

// Others wait behind whatever has been read and not yet written, and it takes memory.
test('a place is held until the answer is written, so that reads of one token do not run ahead', async (t) => {
  const service = await withService(t, { maxSearches: String(2 * PLACES_OF_TOKEN) })
  await service.store.importPlants(fullPlants(1000, { unit: '"' }), 'add', TESTER)
  const { store } = service
  const read = store.listPlants.bind(store)
  let [unwritten, most] = [0, 0]
  t.mock.method(store, 'listPlants', async (...args: Parameters<typeof read>): Promise<NewPlant[]> => {
    const plants = await read(...args)
    most = Math.max(most, ++unwritten)
    let isWritten = false
    const { name: text, ...rest } = plants.at(-1) ?? assert.fail('the page is empty')
    const last = {
      ...rest,
      get name() {
        if (!isWritten) unwritten--
        isWritten = true
        return text
      },
    }
    return [...plants.slice(0, -1), last]
  })
  const answers = Array.from({ length: MANY }, () => service.send('GET', '/plants?limit=1000'))
  assert.deepEqual(new Set((await Promise.all(answers)).map(({ status }) => status)), new Set([200]))
  assert.equal(unwritten, 0)
  assert.ok(most <= PLACES_OF_TOKEN, `${most} pages were read and not yet written`)
})
