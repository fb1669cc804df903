import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PlantQuery } from '../src/domain/plant-query.ts'
import type { Row } from '../src/postgres/pool/client.ts'
import { type Facts, waysOf, wordsToAsk } from '../src/postgres/read/search-costs.ts'
import { SearchStatistics } from '../src/postgres/read/search-statistics.ts'

/** A million plants that were entered in the order of their ids, and vacuumed. */
const STATISTICS = new SearchStatistics([
  ['1000000', 'id', '1', null, null, '1'],
  ['1000000', 'sort_key', '0.01', null, null],
  ['1000000', 'words', null, '["<rosa","red","alba","bed","rugosa"]', '[0.08,0.06,0.01,0.3,0.002]'],
  ['1000000', 'tag', null, '["front bed"]', '[0.05]'],
])
const queryOf = (words: string[], order: PlantQuery['order'], tags: string[] = []): PlantQuery => ({
  words,
  order,
  tags,
  after: undefined,
})
/** What the first plants show if hits are as frequent as the statistics say. */
const factsOf = (hits: number, words: number[] = [], seen = 1000): Facts => ({
  limit: 100,
  seen,
  hits,
  words,
  statistics: STATISTICS,
})
const kinds = (query: PlantQuery, facts: Facts) => waysOf(query, facts).map(({ kind }) => kind)

test('a search first follows the way that costs the least', () => {
  assert.equal(kinds(queryOf(['red'], 'id'), factsOf(60))[0], 'walk')
  assert.equal(kinds(queryOf(['alba'], 'id'), factsOf(10))[0], 'walk')
  assert.equal(kinds(queryOf(['rugosa'], 'id'), factsOf(0))[0], 'set')
  assert.equal(kinds(queryOf(['none'], '-name'), factsOf(0))[0], 'set')
  // By name, neighbours lie anywhere on disk.
  assert.equal(kinds(queryOf(['red'], 'name'), factsOf(60))[0], 'walk')
  assert.equal(kinds(queryOf(['alba'], 'name'), factsOf(10))[0], 'window')
  // The names that begin with it are not among the first ones.
  assert.equal(kinds(queryOf(['rosa'], 'name'), factsOf(0))[0], 'set')
  assert.equal(kinds(queryOf(['red', 'rosa'], 'id'), factsOf(5, [60, 80]))[0], 'walk')
  assert.equal(kinds(queryOf(['alba', 'rosa'], 'name'), factsOf(0, [10, 0]))[0], 'set')
})

test('a search reads no window where each of its entries costs a plant: without statistics, or before a VACUUM', () => {
  const rows = ['1', '0.5', null].map((visible) => [
    ['1000000', 'words', null, '["alba"]', '[0.01]', visible],
  ]) as Row[][]
  const hasWindow = (statistics: SearchStatistics) =>
    kinds(queryOf(['alba'], 'name'), { ...factsOf(10), statistics }).includes('window')
  assert.deepEqual(
    [...rows, []].map((each) => hasWindow(new SearchStatistics(each))),
    [true, false, false, false],
  )
})

test('a search believes the statistics of a word that they list, as the first plants may have it by chance', () => {
  const costOf = (word: string, hits: number) =>
    waysOf(queryOf([word], 'name'), factsOf(hits)).find(({ kind }) => kind === 'set')?.cost ?? Number.NaN
  assert.ok(costOf('rugosa', 30) < 2 * costOf('rugosa', 0))
  assert.ok(costOf('unlisted', 30) > 10 * costOf('unlisted', 0))
})

test('a search believes the first plants where they contradict the statistics', () => {
  // A word that begins many rare words is not among the frequent ones.
  assert.equal(kinds(queryOf(['ro'], 'id'), { ...factsOf(40), statistics: new SearchStatistics() })[0], 'walk')
  assert.equal(kinds(queryOf(['a'], 'id'), factsOf(500))[0], 'walk')
  const [walk] = waysOf(queryOf(['bed'], 'name', ['front bed']), factsOf(500, [], 500))
  assert.equal(walk?.kind, 'walk')
})

test('a search asks the index for words as long as their entries cost less than the plants they spare', () => {
  const ask = (words: string[], tags: string[] = []) => wordsToAsk(queryOf(words, 'id', tags), factsOf(0, [], 500))
  assert.deepEqual(ask(['bed', 'rosa', 'red']), ['red', 'rosa', 'bed'])
  assert.deepEqual(ask(['bed', 'rugosa']), ['rugosa'])
  assert.deepEqual(ask(['bed', 'alba'], ['front bed']), ['alba'])
  assert.deepEqual(ask(['none', 'rosa']), ['none'])
})

test('a search asks for a frequent word itself, unless a longer one is frequent too or the word is not ASCII', () => {
  const statistics = new SearchStatistics([
    ['1000000', 'words', null, '["<rosa","red","alba","albana","роза"]', '[0.08,0.06,0.03,0.03,0.3]'],
  ])
  const words = ['alba', 'albana', 'none', 'red', 're', 'ro', 'rosa', 'роза']
  assert.deepEqual(
    words.filter((word) => statistics.isFrequent(word)),
    ['albana', 'red', 'rosa'],
  )
  const few = new SearchStatistics([['100000', 'words', null, '["<rosa"]', '[0.08]']])
  assert.ok(!few.isFrequent('rosa'))
})

test('frequent words cost less to list themselves than by their beginnings', () => {
  const costOf = (words: string[]) =>
    waysOf(queryOf(words, '-name'), factsOf(0, [0, 0])).find(({ kind }) => kind === 'set')?.cost ?? Number.NaN
  assert.ok(costOf(['red', 'rosa']) < costOf(['re', 'ros']))
})

test('without statistics, a search knows what its first plants show', () => {
  const unknown = (hits: number, words: number[]): Facts => ({
    ...factsOf(hits, words),
    statistics: new SearchStatistics(),
  })
  assert.equal(kinds(queryOf(['red'], 'id'), unknown(60, []))[0], 'walk')
  assert.equal(kinds(queryOf(['alba'], 'id'), unknown(0, []))[0], 'set')
  assert.deepEqual(wordsToAsk(queryOf(['bed', 'alba'], 'id'), unknown(0, [300, 1])), ['alba'])
})

test('statistics add up the shares of all words that begin with a word', () => {
  const shareOf = (word: string) => {
    const { all, first } = STATISTICS.shareOf(word)
    return [all, first].map((share) => Number(share.toFixed(4)))
  }
  assert.deepEqual(shareOf('r'), [0.142, 0.08])
  assert.deepEqual(shareOf('rosa'), [0.08, 0.08])
  assert.deepEqual(shareOf('alba'), [0.01, 0])
  assert.deepEqual(shareOf('b'), [0.3, 0])
  assert.deepEqual(shareOf('none'), [0, 0])
  assert.deepEqual(new SearchStatistics().shareOf('rosa'), { all: 0, first: 0 })
})
