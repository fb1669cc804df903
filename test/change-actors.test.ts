import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { createStoreFile } from '../src/sqlite/open/prepare-file.ts'
import { type Put, SqliteWriter } from '../src/sqlite/write/writer.ts'
import { command } from './support/commands.ts'
import { tempFolder } from './support/files.ts'
import { writePlantFile } from './support/plant-files.ts'
import { serveStore, TOKEN } from './support/process.ts'
import { actorsIn } from './support/sqlite-changes.ts'
import { plant } from './support/store-under-test.ts'

test('SQLite: one commit with creates of several tokens writes one row of the log of changes per token', (t) => {
  const path = join(tempFolder(t), 'plants.db')
  createStoreFile(path)
  const writer = new SqliteWriter(path)
  const put = (i: number, actor: string): Put => ({ plant: plant(BigInt(i)), mode: 'add', actor })
  const puts = Array.from({ length: 50 }, (_, i) => put(i, i % 3 === 0 ? 'one' : 'two'))
  writer.createPlants(puts)
  // Creating a plant that exists already changes nothing.
  writer.createPlants([...puts.slice(0, 20), put(60, 'three')])
  writer.changePlants([
    { change: { kind: 'replace', plant: plant(70n), expected: NO_EXPECTATION }, actor: 'one' },
    { change: { kind: 'delete', id: 70n, expected: NO_EXPECTATION }, actor: 'two' },
    { change: { kind: 'replace', plant: plant(70n), expected: NO_EXPECTATION }, actor: 'two' },
  ])
  writer.close()
  const idsOf = (actor: string) => puts.filter((one) => one.actor === actor).map((one) => one.plant.id)
  assert.deepEqual(actorsIn(path), [
    ['create', idsOf('one'), 'one'],
    ['create', idsOf('two'), 'two'],
    ['create', [60n], 'three'],
    ['create', [70n], 'one'],
    ['delete', [70n], 'two'],
    ['create', [70n], 'two'],
  ])
})

test('SQLite: the log of changes names the writer: a token, the configured token or a command', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  const store = `sqlite:${path}`
  const { stdout: secret } = await command(['token', 'create', '--name', 'Kew app', '--store', store])
  const { stdout: list } = await command(['token', 'list', '--store', store])
  const id = /tok_\w+/.exec(list)?.[0] ?? assert.fail(list)
  writePlantFile(join(folder, 'plants.csv'), [plant(1n)])
  await command(['import', join(folder, 'plants.csv'), '--store', store])
  const { address } = await serveStore(t, store, ['--changes-keep', '1h'])
  const steps: [method: string, path: string, token: string, body?: string, type?: string][] = [
    ['POST', '/plants', secret.trim(), '{"id":2,"name":"Fern"}'],
    ['POST', '/plants', TOKEN, '{"id":3,"name":"Moss"}'],
    ['PUT', '/plants/2', TOKEN, '{"name":"Aloe"}'],
    ['PATCH', '/plants/2', secret.trim(), '{"tag":"dry"}', 'application/merge-patch+json'],
    ['DELETE', '/plants/2', secret.trim()],
    ['POST', '/plants/import', secret.trim(), '{"id":4,"name":"Lily"}', 'application/x-ndjson'],
  ]
  for (const [method, path, token, body, type = 'application/json'] of steps) {
    const headers = { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'Content-Type': type }) }
    const answer = await fetch(`${address}${path}`, { method, headers, body: body ?? null })
    assert.ok(answer.ok, `${method} ${path}: ${await answer.text()}`)
  }
  assert.deepEqual(actorsIn(path), [
    ['create', [1n], 'command:import'],
    ['create', [2n], id],
    ['create', [3n], 'configured'],
    ['replace', [2n], 'configured'],
    ['update', [2n], id],
    ['delete', [2n], id],
    ['create', [4n], id],
  ])
  await command(['copy', '--from', store, '--to', `${store}.copy`])
  assert.deepEqual(actorsIn(`${path}.copy`), [['create', [1n, 3n, 4n], 'command:copy']])
})
