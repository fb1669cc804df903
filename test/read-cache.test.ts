import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PageCache } from '../src/sqlite/read/point-reader.ts'

/** A cache of pages with one name of as many letters as the key says. Records the keys of all reads. */
function make(maxText: number) {
  const cache = new PageCache(maxText)
  const asked: number[] = []
  const pageOf = (key: number) => [{ id: 1n, name: 'x'.repeat(key), tag: undefined }]
  const read = (key: number) => {
    asked.push(key)
    return pageOf(key)
  }
  cache.readAt(1n)
  return { cache, asked, pageOf, get: (key: number) => cache.get(String(key), () => read(key)) }
}

test('the cache keeps a page from its second read on while the version of the store stays', () => {
  const { cache, asked, pageOf, get } = make(1000)
  for (const key of [3, 0, 3, 0, 3, 0]) assert.deepEqual(get(key), pageOf(key))
  cache.readAt(1n)
  assert.equal(get(3), get(3))
  assert.deepEqual(asked, [3, 0, 3, 0])
})

test('after a write the cache keeps frequent pages from their first read on', () => {
  const { cache, asked, get } = make(1000)
  get(3)
  cache.readAt(2n)
  get(3)
  get(3)
  cache.readAt(3n)
  get(3)
  assert.deepEqual(asked, [3, 3, 3])
})

test('the cache keeps no more text than its bound, and no page larger than the bound', () => {
  const { asked, get } = make(400)
  for (const key of [100, 100, 101, 101, 102, 102, 102, 500, 500, 500, 102, 100]) get(key)
  assert.deepEqual(asked, [100, 100, 101, 101, 102, 102, 500, 500, 500, 100])
})

test('the cache forgets keys that were read only once', () => {
  const { asked, get } = make(1000)
  for (let key = 0; key <= 2000; key++) get(key)
  get(0)
  get(0)
  get(0)
  assert.deepEqual(asked.slice(2001), [0, 0])
})
