import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MAX_ID, MIN_ID } from '../../src/domain/plant.ts'
import { comparePositions, filterOf, matches, PLANT_ORDERS, positionOf, words } from '../../src/domain/plant-query.ts'
import { anyPlant } from '../support/plants.ts'
import { holds } from '../support/property.ts'
import { plant } from '../support/store-under-test.ts'

const monstera = plant(1n, 'Monstera deliciosa', 'House plant')
const meant = (tags: string[], text = '') => matches({ tags, words: words(text) }, monstera)

test('an empty filter matches every plant', () => {
  assert.ok(meant([]))
  assert.ok(matches({ tags: [], words: [] }, plant(1n, '')))
})

test('a filter by tags matches plants whose tag equals one of them', () => {
  assert.ok(meant(['x', 'House plant']))
  for (const tags of [['house plant'], ['House'], ['']]) assert.equal(meant(tags), false)
  assert.equal(matches({ tags: [''], words: [] }, plant(1n, 'x')), false, 'an absent tag is not the empty tag')
  assert.ok(matches({ tags: [''], words: [] }, plant(1n, 'x', '')))
})

test('a filter by words matches if each is a prefix of a word of the name or the tag', () => {
  for (const text of ['mon', 'DELI mon', 'plant', 'mon hou', 'del del', 'Móñ']) assert.ok(meant([], text), text)
  for (const text of ['onstera', 'mon x', 'monsteras', 'deliciosahouse']) assert.equal(meant([], text), false, text)
})

test('a text selects by its words, a blank one selects all plants, and one without a word none', () => {
  assert.throws(() => filterOf({ tagPrefix: '' }), /tagPrefix must not be empty/)
  assert.deepEqual(filterOf({ tag: ['x'], q: 'B a b' }), { tags: ['x'], words: ['b', 'a'] })
  for (const text of ['', ' ', '\t\u3000\u00a0', '\u200b', ' \u00ad\ufeff ']) {
    assert.deepEqual(filterOf({ tag: [], q: text }), { tags: [], words: [] }, JSON.stringify(text))
  }
  for (const text of ['€', '×', '!!!', ' - ', '\u0301', '\u200b.'])
    assert.equal(filterOf({ tag: [], q: text }), undefined, text)
  assert.deepEqual(filterOf({ tag: [], q: '🇩🇪' })?.words, ['🇩🇪'])
})

test('a prefix of each word of a plant, together with its tag, matches the plant', () => {
  holds(
    fc.property(anyPlant, fc.nat(), (one, length) => {
      const own = words(`${one.name} ${one.tag ?? ''}`)
      const starts = own.map((word) =>
        Array.from(word)
          .slice(0, 1 + (length % word.length))
          .join(''),
      )
      assert.ok(matches({ tags: one.tag === undefined ? [] : [one.tag], words: starts }, one))
    }),
  )
})

test('positions are ordered by folded name and id, or by id, ascending or descending', () => {
  const ascending = [plant(2n, 'ALOE'), plant(3n, 'áloe'), plant(MIN_ID, 'b'), plant(MAX_ID, 'B'), plant(1n, 'c')]
  const byId = [plant(MIN_ID, 'z'), plant(-1n, 'b'), plant(0n, 'c'), plant(2n ** 53n, 'a'), plant(2n ** 53n + 1n, 'a')]
  for (const order of PLANT_ORDERS) {
    const sorted = order.endsWith('name') ? ascending : byId
    const places = (order.startsWith('-') ? sorted.toReversed() : sorted).map((one) => positionOf(order, one))
    for (const [i, a] of places.entries()) {
      for (const [j, b] of places.entries()) assert.ok(Math.sign(comparePositions(order, a, b)) === Math.sign(i - j))
    }
  }
})

test('each order is total, and is the reverse of another order', () => {
  holds(
    fc.property(anyPlant, anyPlant, (a, b) => {
      for (const order of ['id', 'name'] as const) {
        const difference = comparePositions(order, positionOf(order, a), positionOf(order, b))
        const reversed = comparePositions(`-${order}`, positionOf(`-${order}`, a), positionOf(`-${order}`, b))
        assert.ok(Math.sign(difference) === -Math.sign(reversed))
        assert.equal(difference === 0, a.id === b.id && positionOf(order, a).key === positionOf(order, b).key)
      }
    }),
  )
})
