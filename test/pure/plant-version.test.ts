import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { MAX_ID, MIN_ID, murmur3, type NewPlant, versionOf } from '../../src/domain/plant.ts'
import { anyCharacter, holds } from '../support/property.ts'

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
