import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  createResult,
  decideChange,
  decidePut,
  faultOf,
  importResult,
  type NewPlant,
  NO_EXPECTATION,
  type PutMode,
} from '../../src/domain/plant.ts'
import { refusal } from '../support/store-under-test.ts'

const monstera: NewPlant = { id: 7n, name: 'Monstera', tag: 'houseplant' }
const others: readonly NewPlant[] = [
  { ...monstera, name: 'Ficus' },
  { ...monstera, tag: '' },
  { ...monstera, tag: undefined },
]
const MODES: readonly PutMode[] = ['add', 'update', 'new']

suite('a put', () => {
  test('creates the plant if its id is free, in every mode', () => {
    for (const mode of MODES) assert.equal(decidePut(mode, monstera, undefined), 'created')
  })

  test('leaves an equal plant unchanged, unless the plant must be new', () => {
    const found = MODES.map((mode) => decidePut(mode, monstera, { ...monstera }))
    assert.deepEqual(found, ['unchanged', 'unchanged', 'exists'])
  })

  test('of an id with another plant replaces that plant in the mode update, and is refused in other modes', () => {
    for (const other of others) {
      const found = MODES.map((mode) => decidePut(mode, monstera, other))
      assert.deepEqual(found, ['conflict', 'updated', 'exists'])
    }
  })

  test('in the mode update with an expectation replaces only a plant that meets it, and counts a repetition', () => {
    for (const before of others) {
      const row = { ...monstera, before }
      assert.equal(decidePut('update', row, before), 'updated')
      assert.equal(decidePut('update', row, monstera), 'unchanged')
      assert.equal(decidePut('update', row, undefined), 'changed')
      assert.equal(decidePut('update', row, { ...before, name: 'Hoya' }), 'changed')
      assert.equal(decidePut('update', row, { ...before, tag: 'another' }), 'changed')
      assert.equal(decidePut('add', row, before), 'conflict')
      assert.equal(decidePut('add', row, undefined), 'created')
    }
    assert.ok(refusal(41201)(importResult('changed', 7n)))
  })

  test('returns a result for a create and for an imported plant', () => {
    assert.equal(createResult('created', 7n), 'created')
    assert.equal(importResult('created', 7n), 'added')
    assert.equal(importResult('updated', 7n), 'updated')
    for (const answer of [createResult, importResult]) {
      assert.equal(answer('unchanged', 7n), 'unchanged')
      assert.ok(refusal(40901)(answer('conflict', 7n)))
    }
    assert.ok(refusal(41201)(createResult('exists', 7n)))
  })
})

suite('a change', () => {
  test('creates or replaces by a replace, and sets only the named members by an update', () => {
    const replace = { kind: 'replace', plant: monstera, expected: NO_EXPECTATION } as const
    assert.deepEqual(decideChange(replace, undefined), { result: 'created', plant: monstera })
    assert.deepEqual(decideChange(replace, monstera), { result: 'replaced', plant: monstera })
    const update = { kind: 'update', id: 7n, patch: { tag: null }, expected: NO_EXPECTATION } as const
    assert.deepEqual(decideChange(update, monstera), { result: 'updated', plant: { ...monstera, tag: undefined } })
  })

  test('reports a missing plant before it checks the expectation', () => {
    const expected = { at: 'any' } as const
    assert.throws(() => decideChange({ kind: 'delete', id: 7n, expected }, undefined), refusal(40402))
    assert.throws(() => decideChange({ kind: 'update', id: 7n, patch: {}, expected }, undefined), refusal(40402))
    assert.throws(() => decideChange({ kind: 'replace', plant: monstera, expected }, undefined), refusal(41201))
    assert.deepEqual(decideChange({ kind: 'delete', id: 7n, expected }, monstera), { result: 'deleted' })
  })
})

test('the bounds of name and tag count code points, whatever each takes', () => {
  for (const letter of ['x', '\u00e9', '\ufdfa', '\u{1f335}']) {
    const whole = { id: 1n, name: letter.repeat(1000), tag: letter.repeat(200) }
    assert.equal(faultOf(whole), undefined, letter)
    assert.match(faultOf({ ...whole, name: `${whole.name}x` })?.message ?? '', /name .*1000/, letter)
    assert.match(faultOf({ ...whole, tag: `${whole.tag}x` })?.message ?? '', /tag .*200/, letter)
  }
})
