import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { makeGroupCommit as make, watch } from './support/group-commits.ts'
import { turns } from './support/turns.ts'

test('rows that may gather wait for most of those that came at once before', async () => {
  const { commits, group } = make({ maxGather: 60_000 })
  const submit = async (...rows: readonly string[]) => {
    for (const row of rows) watch({ [row]: group.submit(row) })
    await turns()
  }
  await submit('a')
  assert.deepEqual(commits.groups, [['a']], 'a single client does not wait')
  await submit('b', 'c', 'd')
  await commits.succeed(0)
  assert.deepEqual(commits.groups, [['a'], ['b', 'c', 'd']])
  await commits.succeed(1)
  await submit('e', 'f')
  assert.equal(commits.groups.length, 2, 'two of four are too few')
  await submit('g')
  assert.deepEqual(commits.groups, [['a'], ['b', 'c', 'd'], ['e', 'f', 'g']])
  await commits.succeed(2)
})

test('rows that gather wait no longer than they may, and are committed before the close', async () => {
  const { commits, group } = make({ maxGather: 1 })
  const first = ['a', 'b', 'c', 'd'].map((row) => group.submit(row))
  await commits.succeed(0)
  await commits.succeed(1)
  assert.deepEqual(await Promise.all(first), ['a', 'b', 'c', 'd'])
  const last = group.submit('e')
  const closed = group.close()
  while (commits.groups.length < 3) await turn()
  await commits.succeed(2)
  assert.equal(await last, 'e')
  await closed
})
