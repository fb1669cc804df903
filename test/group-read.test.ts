import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupRead } from '../src/group-read.ts'

/** Reads the length of texts, and remembers what it was asked for together. */
function make() {
  const groups: (readonly string[])[] = []
  const group = new GroupRead<string, number>((texts) => {
    groups.push(texts)
    if (texts.includes('bad')) throw new Error('no such text')
    return texts.map((text) => text.length)
  })
  return { group, groups }
}

test('what is asked for in one turn of the event loop is read together, and each is told of its own', async () => {
  const { group, groups } = make()
  assert.deepEqual(await Promise.all([group.get('a'), group.get('bcd'), group.get('ef')]), [1, 3, 2])
  assert.deepEqual(groups, [['a', 'bcd', 'ef']])
})

test('nothing is read before the turn is over, so that it is never older than the question', async () => {
  const { group, groups } = make()
  const value = group.get('a')
  await Promise.resolve()
  assert.deepEqual(groups, [])
  await value
  assert.deepEqual(groups, [['a']])
})

test('the next turn is read by itself', async () => {
  const { group, groups } = make()
  await group.get('a')
  await group.get('b')
  assert.deepEqual(groups, [['a'], ['b']])
})

test('a read that fails is told to all who asked, and to nobody after them', async () => {
  const { group } = make()
  const both = [group.get('bad'), group.get('good')]
  for (const value of both) await assert.rejects(value, /no such text/)
  assert.equal(await group.get('good'), 4)
})

test('what is too much for one turn is read in later ones, each once and in order, with what is asked for meanwhile', async () => {
  const groups: string[][] = []
  const group = new GroupRead<string, number>((texts) => {
    groups.push([...texts])
    return texts.slice(0, 2).map((text) => text.length)
  })
  const first = ['a', 'bc', 'def', 'g', 'hi'].map((text) => group.get(text))
  await first[0]
  const late = group.get('late')
  assert.deepEqual(await Promise.all([...first, late]), [1, 2, 3, 1, 2, 4])
  assert.deepEqual(groups, [
    ['a', 'bc', 'def', 'g', 'hi'],
    ['def', 'g', 'hi', 'late'],
    ['hi', 'late'],
  ])
})
