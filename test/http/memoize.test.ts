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

test('memoizes the text of a subject that comes often', () => {
  const { calls, write } = counted()
  const fern = { name: 'fern' }
  for (let i = 0; i < 1000; i++) assert.equal(write(fern, '!'), 'fern!')
  assert.ok(calls.length < 100, `${calls.length} calls`)
})

test('memoizes the text of a subject that comes often among others that come once', () => {
  const { calls, write } = counted()
  const fern = { name: 'fern' }
  for (let i = 0; i < 10_000; i++) {
    write(fern, '!')
    if (i % 3 === 0) write({ name: `other ${i}` }, '!')
  }
  assert.ok(calls.filter((name) => name === 'fern').length < 500)
})

test('writes equal subjects separately: each object has a text of its own', () => {
  const { calls, write } = counted()
  for (let i = 0; i < 3; i++) write({ name: 'fern' }, '!')
  assert.deepEqual(calls, ['fern', 'fern', 'fern'])
})

test('a write that throws is tried again', () => {
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
