import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SharedTurns } from '../../src/http/connection/shared-turns.ts'

/** Longer than the tasks of one turn may take together. */
function work(): void {
  const end = performance.now() + 6
  while (performance.now() < end);
}

test('a task runs at the end of the turn when no client connects, and of the turn after a client connected', async () => {
  const turns = new SharedTurns()
  let isDone = false
  const task = () => {
    isDone = true
  }
  turns.add(task)
  await nextTurn()
  assert.ok(isDone)

  turns.arrive()
  assert.ok(turns.isArriving)
  await nextTurn()
  assert.ok(turns.isArriving, 'this turn reads its first request')
  isDone = false
  turns.add(task)
  await nextTurn()
  assert.ok(isDone)
  assert.ok(!turns.isArriving)
})

test('long tasks run in every eighth turn while clients connect in every turn', async () => {
  const turns = new SharedTurns()
  const ranIn: number[] = []
  let turn = 0
  for (let i = 0; i < 4; i++) {
    turns.add(() => {
      ranIn.push(turn)
      work()
    })
  }
  for (; ranIn.length < 4; turn++) {
    turns.arrive()
    await nextTurn()
  }
  const [first = 0] = ranIn
  assert.deepEqual(ranIn, [first, first + 8, first + 16, first + 24])
})
