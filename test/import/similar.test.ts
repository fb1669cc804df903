import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { NewPlant } from '../../src/domain/plant.ts'
import { foldedName, stepsBetween, unlikenessOf } from '../../src/import/sheet/likeness.ts'
import { SimilarFinder } from '../../src/import/similar.ts'

suite('a row is like a stored plant', () => {
  const like = (one: string, other: string): boolean => unlikenessOf(foldedName(one), foldedName(other)) !== undefined

  test('if a fifth of the name differs at most, whatever case, accents and punctuation', () => {
    assert.ok(like('Acer palmtum', 'Acer palmatum'))
    assert.ok(like('Hydrangae macrophylla', 'Hydrangea macrophylla'))
    assert.ok(like('rosa “peace”', "Rosa 'Peace'"))
    assert.ok(like('Crocosmia Züricher See', 'crocosmia Zuricher-See'))
    assert.ok(!like('Acer palmatum', 'Acer rubrum'))
    assert.ok(!like("Rosa 'Peace'", "Rosa 'Charles Austin'"))
    assert.ok(!like('Abies', 'Acer'))
  })

  test('if one name continues the other, but not if their numbers differ', () => {
    assert.ok(like('Acer palmatum', "Acer palmatum 'Osakazuki'"))
    assert.ok(!like('Seedling 12', 'Seedling 13'))
    assert.ok(!like('Acer', 'Acerola'))
  })

  test('after few steps, so that a turn looks at the time between two names of any characters', () => {
    for (const character of ['ﷺ', '뷁', 'a', 'ab']) {
      const [one, other] = [character.repeat(1000), `${character.repeat(999)}x`].map(foldedName)
      assert.ok(one && other && stepsBetween(one, other) <= 2 ** 17, character)
    }
  })

  /** Plants that are stored, and a finder beside them, after it has taken rows. */
  const finderOf = (stored: readonly NewPlant[], names: readonly string[]): SimilarFinder => {
    const finder = new SimilarFinder(async function* () {
      for (let at = 0; at < stored.length; at += 1000) yield stored.slice(at, at + 1000)
    })
    for (const [i, name] of names.entries()) finder.add(i, { id: 0n, name, tag: 'all' })
    return finder
  }

  const numbered = (count: number, nameOf: (i: number) => string): NewPlant[] =>
    Array.from({ length: count }, (_, i) => ({ id: BigInt(i), name: nameOf(i), tag: 'all' }))

  test('which is found for a full number of rows in a tag of thousands within seconds, and for equal names', async () => {
    const genera = ['Acer', 'Abies', 'Betula', 'Rosa', 'Salix', 'Quercus']
    const nameOf = (i: number) => `${genera[i % 6]} ${(i * 7919).toString(36)}us ${(i * 104_729).toString(36)}`
    const rows = Array.from({ length: 1000 }, (_, i) => `${nameOf(i * 17)}x`)
    const before = process.cpuUsage()
    const found = await finderOf(numbered(20_000, nameOf), rows).find(new Set())
    assert.ok(process.cpuUsage(before).user < 20e6)
    assert.ok(found.filter(({ line, plant }) => plant.id === BigInt(line * 17)).length > 900)
    const equal = finderOf(
      numbered(300, () => 'Rosa alva'),
      Array.from({ length: 300 }, () => 'Rosa alba'),
    )
    assert.equal((await equal.find(new Set([7n]))).length, 299)
  })

  test('within a bounded time for names of any length, of which many are alike', async () => {
    const nameOf = (i: number) => `${i % 2 === 0 ? 'ab' : 'ba'}`.repeat(499)
    const before = process.cpuUsage()
    const finder = finderOf(
      numbered(20_000, nameOf),
      Array.from({ length: 1000 }, (_, i) => nameOf(i)),
    )
    await finder.find(new Set())
    // All comparisons would take hours.
    assert.ok(process.cpuUsage(before).user < 20e6)
  })
})
