import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoize } from '../../src/http/response/memoize.ts'

const counted = () => {
  const calls: string[] = []
  const write = memoize((subject: { readonly name: string }, suffix: string) => {
    calls.push(subject.name)
    return subject.name + suffix
  })
  return { calls, write }
}

test('memoize keeps the text of a frequent subject', () => {
  const { calls, write } = counted()
  const fern = { name: 'fern' }
  for (let i = 0; i < 1000; i++) assert.equal(write(fern, '!'), 'fern!')
  assert.ok(calls.length < 100, `${calls.length} calls`)
})

test('memoize keeps the text of a frequent subject among others that come once', () => {
  const { calls, write } = counted()
  const fern = { name: 'fern' }
  for (let i = 0; i < 10_000; i++) {
    write(fern, '!')
    if (i % 3 === 0) write({ name: `other ${i}` }, '!')
  }
  assert.ok(calls.filter((name) => name === 'fern').length < 500)
})

test('memoize writes each object by itself, even equal ones', () => {
  const { calls, write } = counted()
  for (let i = 0; i < 3; i++) write({ name: 'fern' }, '!')
  assert.deepEqual(calls, ['fern', 'fern', 'fern'])
})

test('memoize calls a write again that has thrown', () => {
  let fails = true
  const write = memoize((subject: { readonly name: string }) => {
    if (fails) throw new Error('not now')
    return subject.name
  })
  const fern = { name: 'fern' }
  assert.throws(() => write(fern), /not now/)
  fails = false
  assert.equal(write(fern), 'fern')
})
