import assert from 'node:assert/strict'
import { TESTER } from './actor.ts'
import type { Scene } from './clean-up.ts'
import { SECRET, type Service, withService } from './service.ts'

/** The index knows only the beginning of so long a word. */
const WORD = 'x'.repeat(100)

/**
 * A slow search in the service of withSlowSearches: all plants have the tag and the beginning of the word, so the search
 * reads each of them, and none has the whole word.
 */
export const SLOW = `/plants?tag=-&q=${WORD}y&sort=name&limit=5`

/** Starts a service with so many plants that SLOW takes some time. */
export async function withSlowSearches(
  scene: Scene,
  flags: Parameters<typeof withService>[1] = {},
  plants = 5000,
): Promise<Service> {
  const service = await withService(scene, flags)
  const all = Array.from({ length: plants }, (_, i) => ({ id: BigInt(i), name: WORD, tag: '-' }))
  for (let i = 0; i < all.length; i += 5000) await service.store.importPlants(all.slice(i, i + 5000), 'add', TESTER)
  const query = { tags: ['-'], words: [`${WORD}y`], order: 'name', after: undefined } as const
  assert.deepEqual(await service.store.listPlants(query, 5), [])
  return service
}

export const searchHead = (...fields: string[]): string =>
  [`GET ${SLOW} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${SECRET}`, ...fields, '', ''].join('\r\n')
