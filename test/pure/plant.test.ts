import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import {
  createResult,
  decideChange,
  decidePut,
  faultOf,
  importResult,
  MAX_ID,
  MIN_ID,
  murmur3,
  type NewPlant,
  NO_EXPECTATION,
  type PutMode,
  validatePatch,
  versionOf,
} from '../../src/domain/plant.ts'
import { comparePositions, filterOf, matches, PLANT_ORDERS, positionOf, words } from '../../src/domain/plant-query.ts'
import { anyPlant } from '../support/plants.ts'
import { anyCharacter, holds } from '../support/property.ts'
import { plant, refusal } from '../support/store-under-test.ts'

const deliciosa = plant(1n, 'Monstera deliciosa', 'House plant')
const meant = (tags: string[], text = '') => matches({ tags, words: words(text) }, deliciosa)

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

test('a name and a tag have neither U+0000 nor a lone surrogate', () => {
  for (const bad of ['\0', 'a\0b', '\ud800', '\udfff', 'a\udc00\ud800', '\ud83c', '\ud800\ud83c\udf31']) {
    for (const member of ['name', 'tag']) {
      const fault = `${member} must not contain U+0000 or a lone surrogate`
      assert.equal(faultOf({ ...monstera, [member]: bad })?.message, fault, JSON.stringify(bad))
      const patch = { id: 7n, name: undefined, tag: undefined, [member]: bad }
      assert.throws(() => validatePatch(patch), { message: fault }, JSON.stringify(bad))
    }
  }
  assert.equal(faultOf({ ...monstera, name: '\ud83c\udf31' }), undefined)
})

suite('murmur3', () => {
  test('has the published values of MurmurHash3_x86_32, where these hash whole UTF-16 units', () => {
    // From https://en.wikipedia.org/wiki/MurmurHash and the checks of smhasher; bytes in pairs, as in UTF-16LE.
    const vectors: readonly [number[], number, number][] = [
      [[], 0, 0],
      [[], 1, 0x514e28b7],
      [[], 0xffffffff, 0x81f16f39],
      [[0xff, 0xff, 0xff, 0xff], 0, 0x76293b50],
      [[0x21, 0x43, 0x65, 0x87], 0, 0xf55b516b],
      [[0x21, 0x43, 0x65, 0x87], 0x5082edee, 0x2362f9de],
      [[0x21, 0x43], 0, 0xa0f7b07a],
      [[0, 0, 0, 0], 0, 0x2362f9de],
      [[0, 0], 0, 0x30f4c306],
      [[...Buffer.from('test')], 0, 0xba6bd213],
      [[...Buffer.from('test')], 0x9747b28c, 0x704b81dc],
    ]
    for (const [bytes, seed, hash] of vectors) {
      const text = Buffer.from(bytes).toString('utf16le')
      assert.equal(murmur3(text, seed, 0)[0].toString(16), hash.toString(16), `${bytes} with seed ${seed}`)
    }
  })

  test('equals a reference implementation on any text and with both seeds', () => {
    const anySeed = fc.nat(0xffffffff)
    holds(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 50 }), anySeed, anySeed, (text, first, second) => {
        const bytes = Buffer.from(text, 'utf16le')
        assert.deepEqual(murmur3(text, first, second), [reference(bytes, first), reference(bytes, second)])
      }),
      { numRuns: 2000 },
    )
  })
})

suite('the version of a plant', () => {
  test('is 64 bits in hexadecimal digits', () => {
    holds(
      fc.property(fc.bigInt({ min: MIN_ID, max: MAX_ID }), fc.string({ unit: anyCharacter }), (id, name) => {
        assert.match(versionOf({ id, name, tag: undefined }), /^[0-9a-f]{16}$/)
      }),
    )
  })

  test('never changes, because clients store it', () => {
    assert.equal(versionOf({ id: 1n, name: 'Monstera deliciosa', tag: 'houseplant' }), '0e7a3e138ff57a28')
    assert.equal(versionOf({ id: MIN_ID, name: '', tag: undefined }), 'b554d70d2cfb8142')
    assert.equal(versionOf({ id: MIN_ID, name: '', tag: '' }), '3825def0fc31ff55')
  })

  test('differs among 200,000 similar plants', () => {
    const versions = new Set<string>()
    for (let i = 0; i < 50_000; i++) {
      const id = BigInt(i)
      const plants: NewPlant[] = [
        { id, name: 'x', tag: undefined },
        { id, name: 'x', tag: '' },
        { id: 1n, name: `x${i}`, tag: undefined },
        { id: 1n, name: 'x', tag: `${i}` },
      ]
      for (const plant of plants) versions.add(versionOf(plant))
    }
    // No plant is of two of the four kinds.
    assert.equal(versions.size, 200_000)
  })

  test('differs between plants whose name and tag only join to the same text', () => {
    const pairs: readonly [NewPlant, NewPlant][] = [
      [
        { id: 1n, name: 'ab', tag: undefined },
        { id: 1n, name: 'a', tag: 'b' },
      ],
      [
        { id: 1n, name: 'a=b', tag: undefined },
        { id: 1n, name: 'a', tag: 'b' },
      ],
      [
        { id: 1n, name: 'a', tag: '=' },
        { id: 1n, name: 'a=', tag: '' },
      ],
      [
        { id: 11n, name: 'a', tag: '' },
        { id: 1n, name: '1a', tag: '' },
      ],
      [
        { id: 1n, name: '', tag: 'a' },
        { id: 1n, name: 'a', tag: '' },
      ],
    ]
    for (const [one, other] of pairs) assert.notEqual(versionOf(one), versionOf(other))
  })
})

/** Hashes byte by byte in bigints, so that it shares no code with the program. */
function reference(bytes: Buffer, seed: number): number {
  const mask = 0xffffffffn
  const rotate = (value: bigint, by: bigint) => ((value << by) | (value >> (32n - by))) & mask
  const scramble = (block: bigint) => (rotate((block * 0xcc9e2d51n) & mask, 15n) * 0x1b873593n) & mask
  let hash = BigInt(seed)
  const whole = bytes.length - (bytes.length % 4)
  for (let i = 0; i < whole; i += 4) {
    hash = (rotate(hash ^ scramble(BigInt(bytes.readUInt32LE(i))), 13n) * 5n + 0xe6546b64n) & mask
  }
  if (bytes.length > whole) hash ^= scramble(BigInt(bytes.readUIntLE(whole, bytes.length - whole)))
  hash ^= BigInt(bytes.length)
  hash = ((hash ^ (hash >> 16n)) * 0x85ebca6bn) & mask
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2ae35n) & mask
  return Number(hash ^ (hash >> 16n))
}
