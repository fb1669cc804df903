import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RowWriter } from '../src/http/answer/row-writer.ts'

/** Takes a millisecond, as a page of a thousand plants of the largest size takes tens of them. */
function slowly(row: number): string {
  for (const startedAt = performance.now(); performance.now() - startedAt < 1; );
  return String(row)
}

const rows = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

test('a long array is written in turns of the event loop, between which other work runs', async () => {
  const writer = new RowWriter()
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const text = await writer.write(rows(200), slowly)
  isDone = true
  assert.deepEqual(JSON.parse(text), rows(200))
  assert.ok(turns >= 10, `${turns} turns in 200 ms of work`)
})

test('long arrays are written one after the other, also behind one that fails, and short ones at once', async () => {
  const writer = new RowWriter()
  const order: string[] = []
  const write = (name: string, count: number, toJson: (row: number) => string = slowly) =>
    writer
      .write(rows(count), (row) => {
        if (order.at(-1) !== name) order.push(name)
        return toJson(row)
      })
      .catch(() => 'failed')
  const fails = () => {
    throw new Error('no such row')
  }
  const [first, , , short] = await Promise.all([
    write('first', 150),
    write('second', 150, fails),
    write('third', 150),
    write('short', 3),
  ])
  assert.deepEqual([first?.length, short], [JSON.stringify(rows(150)).length, '[0,1,2]'])
  assert.deepEqual(
    order.filter((name) => name !== 'short'),
    ['first', 'second', 'third'],
  )
  assert.ok(order.indexOf('short') < order.indexOf('second'), order.join())
  assert.equal(await writer.write([], slowly), '[]')
})
