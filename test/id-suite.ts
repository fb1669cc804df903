import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { type IdRange, MAX_PROPOSED } from '../src/domain/id-store.ts'
import { MAX_ID, MIN_ID } from '../src/domain/plant.ts'
import { createPlant } from './support/create-plant.ts'
import { plant, type Suite } from './support/store-under-test.ts'

export const ACTOR = { id: 'tok_00000000000', name: 'a test' }

export const keyOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/** The specification of IdStore. */
export function idTests(suite: Suite): void {
  suite('the proposed id is 1 or the id after the largest one in use', async ({ store }) => {
    assert.equal(await store.ids.proposeId(), 1n)
    for (const id of [MIN_ID, -1n, 0n, MAX_ID, MAX_PROPOSED + 1n]) await createPlant(store, plant(id))
    assert.equal(await store.ids.proposeId(), 1n, 'ids outside the range of proposals do not count')
    await createPlant(store, plant(41n))
    assert.equal(await store.ids.proposeId(), 42n)
    assert.deepEqual(await store.ids.reserveIds(3, undefined, ACTOR), { first: 42n, last: 44n })
    assert.equal(await store.ids.proposeId(), 45n)
    await createPlant(store, plant(43n))
    assert.equal(await store.ids.proposeId(), 45n, 'using a reserved id changes no proposal')
  })

  suite('while the largest id is in use, the proposed id comes from a gap below it', async ({ store }) => {
    for (const id of [MAX_PROPOSED, MAX_PROPOSED - 5n, 7n]) await createPlant(store, plant(id))
    const first = MAX_PROPOSED - 4n
    assert.deepEqual(await store.ids.reserveIds(3, undefined, ACTOR), { first, last: first + 2n })
    assert.deepEqual(await store.ids.reserveIds(2, undefined, ACTOR), { first: 8n, last: 9n })
    assert.deepEqual(await store.ids.reserveIds(1, undefined, ACTOR), { first: first + 3n, last: first + 3n })
    assert.equal(await store.ids.proposeId(), 10n)
  })

  suite('no id is reserved twice, at once or after the store is opened again', async ({ store, reopen }) => {
    const counts = Array.from({ length: 40 }, (_, i) => (i % 7) + 1)
    const ranges = await Promise.all(counts.map((count) => store.ids.reserveIds(count, undefined, ACTOR)))
    const again = await (await reopen()).ids.reserveIds(5, undefined, ACTOR)
    assertDisjoint([...ranges, again], [...counts, 5])
  })

  suite('a key gets its range again whatever count it asks for, and another key another', async ({ store, reopen }) => {
    const all = await Promise.all(Array.from({ length: 5 }, () => store.ids.reserveIds(3, keyOf('a'), ACTOR)))
    for (const range of all) assert.deepEqual(range, { first: 1n, last: 3n })
    assert.deepEqual(await store.ids.reserveIds(2, keyOf('b'), ACTOR), { first: 4n, last: 5n })
    const later = await reopen()
    assert.deepEqual(await later.ids.reserveIds(9, keyOf('a'), ACTOR), { first: 1n, last: 3n })
  })

  suite('a key with a content gets its range again with that content alone', async ({ store, reopen }) => {
    const [one, other] = [keyOf('one'), Buffer.alloc(32, 0xff)]
    assert.deepEqual(await store.ids.reserveIds(3, keyOf('a'), ACTOR, one), { first: 1n, last: 3n })
    assert.deepEqual(await store.ids.reserveIds(3, keyOf('b'), ACTOR, other), { first: 4n, last: 6n })
    const later = await reopen()
    assert.deepEqual(await later.ids.reserveIds(3, keyOf('a'), ACTOR, one), { first: 1n, last: 3n })
    assert.equal(await later.ids.reserveIds(3, keyOf('a'), ACTOR, other), 'other content')
    assert.equal(await later.ids.reserveIds(3, keyOf('b'), ACTOR, one), 'other content')
    assert.equal(await later.ids.reserveIds(3, keyOf('a'), ACTOR), 'other content')
    assert.equal(await later.ids.proposeId(), 7n)
  })

  suite('a key gets its range for a day, and then another one', async ({ store }) => {
    const add = (first: bigint, key: string, hours: number) =>
      store.ids.addReservation({
        ...{ first, last: first + 1n, key: keyOf(key), actor: ACTOR.id },
        at: new Date(Date.now() - hours * 3_600_000),
      })
    await add(1n, 'old', 24.1)
    await add(3n, 'young', 23.9)
    assert.deepEqual(await store.ids.reserveIds(2, keyOf('young'), ACTOR), { first: 3n, last: 4n })
    assert.deepEqual(await store.ids.reserveIds(2, keyOf('old'), ACTOR), { first: 5n, last: 6n })
    assert.deepEqual(
      await store.ids.reserveIds(2, keyOf('old'), ACTOR),
      { first: 5n, last: 6n },
      'the key is new again',
    )
  })

  suite('ranges join their neighbours: without a key at once, with a key after its day', async ({ store }) => {
    const ranges = async () =>
      (await store.ids.exportReservations()).map(({ first, last, key }) => [first, last, key !== undefined])
    for (const count of [1, 2, 3]) await store.ids.reserveIds(count, undefined, ACTOR)
    assert.deepEqual(await ranges(), [[1n, 6n, false]])
    const at = new Date(Date.now() - 25 * 3_600_000)
    for (let first = 7n; first < 307n; first += 2n) {
      await store.ids.addReservation({ first, last: first + 1n, key: keyOf(`${first}`), at, actor: ACTOR.id })
    }
    assert.equal((await ranges()).length, 151)
    // The plant 308 keeps the ranges around it apart.
    await createPlant(store, plant(308n))
    const young = await store.ids.reserveIds(2, keyOf('young'), ACTOR)
    assert.deepEqual(young, { first: 309n, last: 310n })
    assert.ok((await ranges()).length < 60, 'one reservation forgets many keys, and not all')
    assert.deepEqual(await store.ids.reserveIds(1, undefined, ACTOR), { first: 311n, last: 311n })
    assert.deepEqual(await store.ids.reserveIds(4, undefined, ACTOR), { first: 312n, last: 315n })
    assert.deepEqual(await ranges(), [
      [1n, 306n, false],
      [309n, 310n, true],
      [311n, 315n, false],
    ])
    assert.deepEqual(await store.ids.reserveIds(2, keyOf('young'), ACTOR), young)
    assert.equal(await store.ids.proposeId(), 316n)
  })

  suite('a range that was joined since the last copy takes the place of its parts in the copy', async ({ store }) => {
    const at = new Date()
    const add = (first: bigint, last: bigint, key?: Buffer) =>
      store.ids.addReservation({ first, last, key, at, actor: ACTOR.id })
    await add(5n, 9n, keyOf('a'))
    await add(10n, 12n, keyOf('b'))
    await add(13n, 14n, keyOf('c'))
    const joined = { first: 5n, last: 12n, key: undefined, at, actor: ACTOR.id }
    const moved = { first: 20n, last: 21n, key: keyOf('c'), at, actor: ACTOR.id }
    for (let i = 0; i < 2; i++) {
      await store.ids.addReservation(joined)
      await store.ids.addReservation(moved)
      const found = (await store.ids.exportReservations()).map(({ first, last, key }) => [
        first,
        last,
        key !== undefined,
      ])
      assert.deepEqual(found, [
        [5n, 14n, false],
        [20n, 21n, true],
      ])
    }
    assert.equal(await store.ids.proposeId(), 22n)
    assert.deepEqual(await store.ids.reserveIds(2, keyOf('c'), ACTOR), { first: 20n, last: 21n })
  })

  suite('reservations can be copied to another store, and copying them again changes nothing', async ({ store }) => {
    const at = new Date(1_800_000_000_123)
    const reservations = [
      { first: 5n, last: 9n, key: keyOf('a'), at, actor: 'tok_1' },
      { first: 2n ** 52n, last: 2n ** 52n, key: undefined, at, actor: 'tok_2' },
    ]
    for (const one of [...reservations.toReversed(), ...reservations]) await store.ids.addReservation(one)
    assert.deepEqual(await store.ids.exportReservations(), reservations)
    assert.deepEqual(await store.ids.reserveIds(1, keyOf('a'), ACTOR), { first: 5n, last: 9n })
    assert.equal(await store.ids.proposeId(), 2n ** 52n + 1n)
  })
}

export function assertDisjoint(ranges: readonly (IdRange | string | undefined)[], counts: readonly number[]): void {
  const given = new Set<bigint>()
  for (const [i, range] of ranges.entries()) {
    assert.ok(typeof range === 'object')
    assert.equal(range.last - range.first + 1n, BigInt(counts[i] ?? 0))
    for (let id = range.first; id <= range.last; id++) {
      assert.ok(!given.has(id), `${id} was given twice`)
      given.add(id)
    }
  }
}
