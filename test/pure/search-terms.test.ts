import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Plant } from '../../src/domain/plant.ts'
import { plantWords, sortKey } from '../../src/domain/plant-query.ts'
import { SearchStatistics } from '../../src/postgres/read/search-statistics.ts'
import { jsonOf } from '../../src/sqlite/search-index/name-index.ts'
import {
  indexedTerms,
  MARK,
  MAX_TERMS,
  matchExpression,
  type Terms,
  within,
} from '../../src/sqlite/search-index/plant-index.ts'
import { anyText } from '../support/plants.ts'
import { holds } from '../support/property.ts'

/** An index in which each prefix has few entries, and none of an id below 0. */
const RARE: Terms = { hasNegative: () => false, isRare: () => true, frequent: () => undefined }
const FREQUENT: Terms = { ...RARE, isRare: () => false }

const ASCII = Array.from({ length: 127 }, (_, i) => String.fromCharCode(i + 1))

/** Creates a full-text index of one plant. */
function indexOf(plant: Plant): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  db.exec(readFileSync(new URL('../../sql/sqlite-index.sql', import.meta.url), 'utf8'))
  db.prepare('INSERT INTO words (rowid, terms) VALUES (1, ?)').run(indexedTerms(plant))
  return db
}

const starts = (word: string): string[] => Array.from(word).map((_, i, all) => all.slice(0, i + 1).join(''))

/** Checks that the index contains exactly the cut words of the plant, and that each prefix of each finds the plant, as do those of its tag. */
function assertIndexed(plant: Plant): void {
  const db = indexOf(plant)
  try {
    const own = plantWords(plant)
    const [first = '', ...others] = own.map((word) => Array.from(word).slice(0, 20).join(''))
    const isFirst = first !== '' && sortKey(plant.name).startsWith(first)
    assert.deepEqual(
      db
        .prepare('SELECT DISTINCT term FROM terms')
        .all()
        .map(({ term }) => term)
        .toSorted(),
      Array.from(new Set(own.length === 0 ? [] : [isFirst ? `\ue001${first}` : first, ...others])).toSorted(),
    )
    const match = db.prepare('SELECT rowid FROM words WHERE words MATCH ?')
    const tags = plant.tag === undefined ? [] : [plant.tag]
    for (const word of new Set(own.slice(0, 4).flatMap(starts))) {
      const expression = matchExpression({ words: [word], tags }, RARE)?.text ?? assert.fail(`${word} narrows nothing`)
      assert.equal(match.all(expression).length, 1, `${word} in ${expression}`)
      const start = Array.from(word).slice(0, 20).join('')
      const behind = matchExpression({ words: [word], tags: [] }, RARE, 'behind the first')?.text ?? assert.fail()
      const isFound = (isFirst ? others : [first, ...others]).some((other) => other.startsWith(start))
      assert.equal(match.all(behind).length, isFound ? 1 : 0, `${word} in ${behind}`)
    }
    for (const tagPrefix of own.length === 0 ? [] : starts(plant.tag ?? '')) {
      const expression = matchExpression({ words: own.slice(0, 1), tags: [], tagPrefix }, RARE)?.text ?? assert.fail()
      assert.equal(match.all(expression).length, 1, `a tag that begins with ${tagPrefix} in ${expression}`)
    }
  } finally {
    db.close()
  }
}

test('a prefix without an index is cut to one that has one, if an id below 0 matches that or its terms are many', () => {
  const expressionOf = (word: string, terms: Partial<Terms>) =>
    matchExpression({ words: [word], tags: [] }, { ...RARE, ...terms })?.text
  const either = (of: (text: string) => string, word: string) => `(${of(word)} OR ${of(`\ue001${word}`)})`
  const prefix = (word: string) => either((text) => `"${text}" *`, word)
  const asked: string[] = []
  const negative = { hasNegative: (expression: string) => asked.push(expression) > 0 }
  assert.equal(expressionOf('abcdefghi', {}), prefix('abcdefghi'))
  assert.equal(expressionOf('abcdefghi', negative), prefix('abcdefgh'))
  assert.equal(expressionOf('𠀀'.repeat(9), negative), prefix('𠀀'.repeat(8)))
  const expected = ['abcdefgh', '𠀀'.repeat(8)].flatMap((word) => [`"${word}" *`, `"\ue001${word}" *`])
  assert.deepEqual(asked, expected)
  assert.equal(expressionOf('abcdefgh', negative), prefix('abcdefgh'))
  const exact = 'a'.repeat(20)
  assert.equal(expressionOf(exact, negative), `("${exact}" OR "\ue001${exact}")`)
  assert.equal(asked.length, 4)
  const few = { frequent: (start: string) => [start, `${start}z`] }
  const wanted = either((text) => `("${text}" OR "${text}z")`, 'abcdefghi')
  assert.equal(expressionOf('abcdefghi', few), wanted)
  const many = { frequent: (start: string) => Array.from({ length: MAX_TERMS + 1 }, (_, i) => `${start}${i}`) }
  assert.equal(expressionOf('abcdefghi', many), prefix('abcdefgh'))
})

test('a search for several frequent words, and one that leaves names out, also finds the marked plants, and so yields', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(readFileSync(new URL('../../sql/sqlite-index.sql', import.meta.url), 'utf8'))
  const insert = db.prepare('INSERT INTO words (rowid, terms) VALUES (?, ?)')
  for (let id = 1; id <= 40; id++) {
    insert.run(id, `\ue001${id % 2 === 0 ? 'alba' : 'nigra'} bed${id % 10 === 0 ? ` ${MARK}` : ''}`)
  }
  const found = db.prepare('SELECT rowid FROM words WHERE words MATCH ?')
  const idsOf = (text = '') => found.all(text).map(({ rowid }) => rowid)
  const marked = [10, 20, 30, 40]
  const rare = matchExpression({ words: ['alba', 'nigra'], tags: [] }, RARE) ?? assert.fail()
  for (const each of [rare, within(rare, { from: undefined, to: { key: 'x', id: 0n } })])
    assert.deepEqual(idsOf(each.text), [])
  assert.deepEqual(idsOf(matchExpression({ words: ['alba', 'nigra'], tags: [] }, FREQUENT)?.text), marked)
  assert.deepEqual(idsOf(matchExpression({ words: ['alba'], tags: ['nigra'] }, FREQUENT)?.text), marked)
  const bed = matchExpression({ words: ['bed'], tags: [] }, FREQUENT) ?? assert.fail()
  assert.equal(idsOf(bed.text).length, 40)
  const before = within(bed, { from: undefined, to: { key: 'x', id: 0n } })
  assert.equal(idsOf(before.text).length, 40)
  const behindAlba = within(bed, { from: { key: 'b', id: 0n }, to: undefined })
  const expected = Array.from({ length: 40 }, (_, i) => i + 1).filter((id) => id % 2 === 1 || marked.includes(id))
  assert.deepEqual(idsOf(behindAlba.text), expected)
  db.close()
})

test('the full-text index contains the words of a plant whatever characters separate them', () => {
  assertIndexed({ name: ASCII.map((character) => `a${character}b`).join(''), tag: undefined })
  assertIndexed({ name: ASCII.join('x'), tag: 'Fern_frond-3' })
  assertIndexed({ name: 'Aloe🌵🌿vera × E\u0301chium', tag: 'ΦΊΚΟΣ' })
  assertIndexed({ name: '', tag: '' })
})

test('the full-text index cuts words after twenty characters, ASCII or not', () => {
  for (const letter of ['x', 'é', '龍', '𠀀']) {
    for (const length of [7, 8, 9, 19, 20, 21, 45]) assertIndexed({ name: letter.repeat(length), tag: 'x' })
  }
  assertIndexed({ name: `${'Abcdefgh'.repeat(3)} ${'abcdefgh'.repeat(4)} abcdefghi`, tag: undefined })
})

test('the full-text index contains the words of any plant', () => {
  const ascii = fc.string({ unit: fc.constantFrom(...ASCII), maxLength: 60 })
  const text = fc.oneof(ascii, anyText)
  holds(
    fc.property(text, fc.option(text, { nil: undefined }), (name, tag) => assertIndexed({ name, tag })),
    { numRuns: 150 },
  )
})

test('a JSON text of entries keeps texts and ids exact', () => {
  const ids = [1n, 2n ** 63n - 1n, -(2n ** 63n)]
  const entries = ids.map((id): [string, bigint] => [`"ä" ${id}`, id])
  const expected = entries.map(([text, id]) => [String(id), text])
  assert.deepEqual(Object.entries(JSON.parse(jsonOf(entries)) as object), expected)
  assert.equal(jsonOf([]), '{}')
})

test('a search asks for a frequent word itself, unless a longer one is frequent too or the word is not ASCII', () => {
  const statistics = new SearchStatistics([
    ['1000000', 'words', '["<rosa","red","alba","albana","роза"]', '[0.08,0.06,0.03,0.03,0.3]'],
  ])
  const words = ['alba', 'albana', 'none', 'red', 're', 'ro', 'rosa', 'роза']
  const found = words.filter((word) => statistics.isFrequent(word))
  assert.deepEqual(found, ['albana', 'red', 'rosa'])
  const few = new SearchStatistics([['100000', 'words', '["<rosa"]', '[0.08]']])
  assert.ok(!few.isFrequent('rosa'))
})

test('statistics add up the shares of all words that begin with a word', () => {
  const statistics = new SearchStatistics([
    ['1000000', 'words', '["<rosa","red","alba","bed","rugosa"]', '[0.08,0.06,0.01,0.3,0.002]'],
  ])
  const shareOf = (word: string) => {
    const { all, first } = statistics.shareOf(word)
    return [all, first].map((share) => Number(share.toFixed(4)))
  }
  assert.deepEqual(shareOf('r'), [0.142, 0.08])
  assert.deepEqual(shareOf('rosa'), [0.08, 0.08])
  assert.deepEqual(shareOf('alba'), [0.01, 0])
  assert.deepEqual(shareOf('b'), [0.3, 0])
  assert.deepEqual(shareOf('none'), [0, 0])
  assert.deepEqual(new SearchStatistics().shareOf('rosa'), { all: 0, first: 0 })
})
