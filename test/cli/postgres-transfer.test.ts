import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { command } from '../support/commands.ts'
import { tempFolder } from '../support/files.ts'
import { manyPlants, PLANTS, writePlantFile } from '../support/plant-files.ts'
import { newDatabase, plantsOf } from '../support/postgres.ts'

test('plantstore import and export work on a PostgreSQL store as on a SQLite store', async (t) => {
  const folder = tempFolder(t)
  const database = await newDatabase(t)
  const env = { PLANTSTORE_STORE: database }
  const plants = [...PLANTS, ...manyPlants(12_000, 1000)].sort((a, b) => (a.id < b.id ? -1 : 1))
  writePlantFile(join(folder, 'plants.ndjson'), plants)
  const imports = (...flags: string[]) => command(['import', 'plants.ndjson', ...flags], { cwd: folder, env })
  assert.match((await imports()).stderr, /^done: 12,007 added, 0 updated, 0 unchanged, 0 refused; /m)
  assert.deepEqual(await plantsOf(database), plants)
  const again = await imports('--dry-run')
  assert.match(again.stderr, /^dry run, nothing was stored: 0 added, 0 updated, 12,007 unchanged, 0 refused; /m)
  assert.equal(again.code, 0)
  const exported = await command(['export', 'again.ndjson'], { cwd: folder, env })
  assert.equal(exported.code, 0, exported.stderr)
  assert.deepEqual(readFileSync(join(folder, 'again.ndjson')), readFileSync(join(folder, 'plants.ndjson')))
})

test('a dry run creates no tables in a database without a store', async (t) => {
  const folder = tempFolder(t)
  const database = await newDatabase(t)
  writePlantFile(join(folder, 'plants.csv'), PLANTS)
  const args = ['import', 'plants.csv', '--dry-run', '--store', database]
  const { code, stderr } = await command(args, { cwd: folder })
  assert.match(stderr, /^plantstore: .*it does not exist\n$/)
  assert.equal(code, 1)
})
