import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReadCache } from '../src/sqlite/read/read-cache.ts'

/** A cache of words with as many letters as the key says. Records the keys of all reads. */
function make(maxText: number) {
  const cache = new ReadCache<number, { word: string }>(maxText, ({ word }) => word.length)
  const asked: number[] = []
  const read = (key: number) => {
    asked.push(key)
    return key < 0 ? undefined : { word: 'x'.repeat(key) }
  }
  cache.readAt(1n)
  return { cache, asked, get: (key: number) => cache.get(key, read) }
}

test('the cache keeps a value from its second read on while the version of the store stays', () => {
  const { cache, asked, get } = make(1000)
  for (const key of [3, 0, 3, 0, 3, 0]) assert.deepEqual(get(key), { word: 'x'.repeat(key) })
  cache.readAt(1n)
  assert.equal(get(3), get(3))
  assert.deepEqual(asked, [3, 0, 3, 0])
})

test('after a write the cache keeps frequent values from their first read on', () => {
  const { cache, asked, get } = make(1000)
  get(3)
  cache.readAt(2n)
  get(3)
  get(3)
  cache.readAt(3n)
  get(3)
  assert.deepEqual(asked, [3, 3, 3])
})

test('the cache keeps no absent values', () => {
  const { asked, get } = make(1000)
  assert.deepEqual([get(-1), get(-1), get(-1)], [undefined, undefined, undefined])
  assert.deepEqual(asked, [-1, -1, -1])
})

test('the cache keeps no more text than its bound, and no value larger than the bound', () => {
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
