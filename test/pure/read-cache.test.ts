import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_PLANTS } from '../../src/domain/plant-query.ts'
import { PageCache } from '../../src/sqlite/read/point-reader.ts'
import { plant } from '../support/store-under-test.ts'

/** A cache of pages with as many plants as the limit says. Records the limits of all reads. */
function make() {
  const cache = new PageCache()
  const asked: number[] = []
  const pageOf = (limit: number) => Array.from({ length: limit }, (_, i) => plant(BigInt(i)))
  const get = (limit: number, version = 1n) =>
    cache.get({ query: { ...ALL_PLANTS, order: 'id', after: undefined }, limit }, version, () => {
      asked.push(limit)
      return pageOf(limit)
    })
  return { asked, pageOf, get }
}

test('the cache keeps a page from its second read on while the version of the store stays', () => {
  const { asked, pageOf, get } = make()
  for (const limit of [3, 0, 3, 0, 3, 0]) assert.deepEqual(get(limit), pageOf(limit))
  assert.equal(get(3), get(3))
  assert.deepEqual(asked, [3, 0, 3, 0])
})

test('after a write the cache keeps frequent pages from their first read on', () => {
  const { asked, get } = make()
  for (const version of [1n, 2n, 2n, 3n]) get(3, version)
  assert.deepEqual(asked, [3, 3, 3])
})

test('the cache keeps no large page, and forgets pages that were read only once', () => {
  const { asked, get } = make()
  for (let i = 0; i < 3; i++) get(102)
  assert.deepEqual(asked.splice(0), [102, 102, 102])
  for (let limit = 0; limit <= 256; limit++) get(limit)
  asked.splice(0)
  for (let i = 0; i < 3; i++) get(0)
  assert.deepEqual(asked, [0, 0])
})
