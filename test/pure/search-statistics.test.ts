import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SearchStatistics } from '../../src/postgres/read/search-statistics.ts'

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
