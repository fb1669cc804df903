import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTurns } from '../../src/base/time-slice.ts'

/** Takes a millisecond, as a page of a thousand plants of the largest size takes tens of them. */
function slowly(row: number): number {
  for (const startedAt = performance.now(); performance.now() - startedAt < 1; );
  return row
}

const rows = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** Counts the rounds of the event loop while a work runs. */
async function roundsOf<T>(work: Promise<T>): Promise<{ result: T; rounds: number }> {
  let rounds = 0
  let isDone = false
  const count = () => {
    rounds++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const result = await work
  isDone = true
  return { result, rounds }
}

test('long work is done in turns of the event loop, between which other work runs', async () => {
  const { result, rounds } = await roundsOf(inTurns(rows(200), slowly))
  assert.deepEqual(result, rows(200))
  assert.ok(rounds >= 10, `${rounds} rounds in 200 ms of work`)
})

test('many long works hold the event loop no longer than one, and one that fails holds up no other', async () => {
  const fails = () => {
    throw new Error('no such row')
  }
  const works = [slowly, slowly, fails, slowly, slowly].map((work) => inTurns(rows(60), work).catch(() => 'failed'))
  const { result, rounds } = await roundsOf(Promise.all(works))
  assert.deepEqual(result, [rows(60), rows(60), 'failed', rows(60), rows(60)])
  // Each by itself would take its turn of 10 ms in each of six rounds.
  assert.ok(rounds >= 15, `${rounds} rounds in 240 ms of work`)
})

test('short work waits for no long one', async () => {
  const order: string[] = []
  const long = inTurns(rows(60), slowly).then(() => order.push('long'))
  const short = inTurns(rows(3), (row) => row).then(() => order.push('short'))
  await Promise.all([long, short])
  assert.deepEqual(order, ['short', 'long'])
  assert.deepEqual(await inTurns([], slowly), [])
})
