import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactId, parseExact, withId } from '../../client/src/exact-json.ts'
import { MAX_ID, MIN_ID } from '../../src/domain/plant.ts'
import { anyCharacter, holds } from '../support/property.ts'

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom('9007199254740993', '"', '\\', '\\"12345678901234567890', '\\\\', '-1e1234567890123456789'),
)

test('the client reads every int64 and every text exactly, at any place in the JSON', () => {
  const id = fc.oneof(
    fc.bigInt(MIN_ID, MAX_ID),
    fc.constantFrom(MIN_ID, MAX_ID, 2n ** 53n, 10n ** 15n, 10n ** 15n - 1n),
  )
  const plants = fc.array(fc.record({ id, name: text, tag: text }), { maxLength: 5 })
  holds(
    fc.property(plants, (given) => {
      // The service never sends U+0000 in a text.
      const sent = given.map(({ id, name, tag }) => ({
        id,
        name: name.replaceAll('\0', ''),
        tag: tag.replaceAll('\0', ''),
      }))
      const json = `[${sent.map(({ id, ...rest }) => withId(id, rest)).join(',')}]`
      const read = parseExact(json) as { id: number | bigint; name: string; tag: string }[]
      const found = read.map(({ id, ...rest }) => ({ id: BigInt(id), ...rest }))
      assert.deepEqual(found, sent)
    }),
  )
})

test('the client refuses text that is not JSON, and reads other numbers as numbers', () => {
  for (const bad of ['', '{', '"1234567890123456', '[12345678901234567', '{"a":"\\"}', '\\"1234567890123456789']) {
    assert.throws(() => parseExact(bad), SyntaxError, bad)
  }
  assert.deepEqual(parseExact('[1.2345678901234567890, 1e1234, 12345678901234567e2, 7]'), [
    1.2345678901234567,
    Infinity,
    Number('12345678901234567e2'),
    7,
  ])
})

test('the client writes only a bigint as an id', () => {
  assert.equal(withId(-7n, {}), '{"id":-7}')
  for (const bad of JSON.parse('[7,"7",null]') as bigint[]) assert.throws(() => exactId(bad), TypeError)
})
