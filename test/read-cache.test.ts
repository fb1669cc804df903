import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReadCache } from '../src/sqlite/read-cache.ts'

/** Reads a letter as often as the key says, and remembers what it was asked for. */
function make(maxText: number) {
  const cache = new ReadCache<number, string>(maxText, (text) => text.length)
  const asked: number[] = []
  const read = (key: number): string | undefined => {
    asked.push(key)
    return key < 0 ? undefined : 'x'.repeat(key)
  }
  return { cache, asked, get: (key: number) => cache.get(key, read) }
}

test('what was read is not read again while the version stays', () => {
  const { cache, asked, get } = make(1000)
  cache.readAt(1n)
  assert.deepEqual([get(3), get(3), get(0), get(0)], ['xxx', 'xxx', '', ''])
  cache.readAt(1n)
  assert.equal(get(3), 'xxx')
  assert.deepEqual(asked, [3, 0])
})

test('another version is read anew', () => {
  const { cache, asked, get } = make(1000)
  cache.readAt(1n)
  get(3)
  cache.readAt(2n)
  get(3)
  assert.deepEqual(asked, [3, 3])
})

test('what is not there is looked for each time', () => {
  const { cache, asked, get } = make(1000)
  cache.readAt(1n)
  assert.deepEqual([get(-1), get(-1)], [undefined, undefined])
  assert.deepEqual(asked, [-1, -1])
})

test('no more is kept than it may hold, and nothing of what alone is more', () => {
  const { cache, asked, get } = make(400)
  cache.readAt(1n)
  for (const key of [100, 101, 102, 102, 500, 500, 102, 100]) get(key)
  assert.deepEqual(asked, [100, 101, 102, 500, 500, 100])
})
