import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type IdRange, MAX_PROPOSED } from '../../src/domain/id-store.ts'
import { freeRange } from '../../src/records/ids.ts'
import { holds } from '../support/property.ts'

/** Drives the search over ranges in use, as an engine does. */
function find(count: number, used: readonly IdRange[]): { range: IdRange | undefined; asked: number } {
  const search = freeRange(count)
  let asked = 0
  const usedBelow = (id: bigint) =>
    used
      .filter(({ first }) => first < id)
      .reduce<IdRange | undefined>((a, b) => (a && a.last > b.last ? a : b), undefined)
  let step = search.next()
  while (step.done !== true) {
    const [sql, id] = step.value
    const isOfPlants = sql.includes('FROM plants')
    const found = isOfPlants || typeof id !== 'bigint' ? undefined : usedBelow(id)
    if (isOfPlants) asked++
    step = search.next(found === undefined ? [] : [[found.first, found.last]])
  }
  return { range: step.value, asked }
}

test('a free range overlaps no used range, and begins at 1 or right after a used range', () => {
  const id = fc.oneof(fc.bigInt(1n, 60n), fc.bigInt(MAX_PROPOSED - 60n, MAX_PROPOSED))
  const range = fc.tuple(id, fc.bigInt(0n, 9n)).map(([first, more]) => ({ first, last: first + more }))
  holds(
    fc.property(fc.array(range, { maxLength: 9 }), fc.integer({ min: 1, max: 20 }), (used, count) => {
      const { range } = find(count, used)
      assert.ok(range, 'there is always room in the middle')
      assert.equal(range.last - range.first + 1n, BigInt(count))
      assert.ok(range.first >= 1n && range.last <= MAX_PROPOSED)
      for (const { first, last } of used) assert.ok(range.last < first || range.first > last)
      assert.ok(range.first === 1n || used.some(({ last }) => last === range.first - 1n))
    }),
  )
})

test('the search gives up after twenty small gaps, and when no gap is left', () => {
  const used = Array.from({ length: 500 }, (_, i) => {
    const id = MAX_PROPOSED - 2n * BigInt(i)
    return { first: id, last: id }
  })
  assert.deepEqual(find(2, used), { range: undefined, asked: 20 })
  assert.deepEqual(find(1, used).range?.first, MAX_PROPOSED - 1n)
  assert.equal(find(1, [{ first: 1n, last: MAX_PROPOSED }]).range, undefined)
})
