import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { DEVELOPMENT_STORE } from '../support/development-store.ts'
import { snapshot, tempFolder } from '../support/files.ts'
import { openStore } from '../support/open-postgres.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { run } from '../support/process.ts'

/** A store of the last version with other files of SQL. */
const DEVELOPMENT = new URL('./fixtures/development.db.gz', import.meta.url)

test('a store of a development version is refused in one sentence, and left as it is', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  writeFileSync(path, gunzipSync(readFileSync(DEVELOPMENT)), { mode: 0o600 })
  const before = snapshot(folder)['plants.db']
  const store = ['--store', `sqlite:${path}`]
  const commands = [
    ['serve', '--port', '0', ...store],
    ['token', 'list', ...store],
    ['export', '-', '--format', 'csv', ...store],
    ['status', ...store],
    ['copy', '--from', `sqlite:${path}`, '--to', `sqlite:${join(tempFolder(t), 'plants.db')}`],
  ]
  for (const command of commands) {
    const { code, stderr } = await run(t, command)
    assert.equal(code, 1, `${command} ${stderr}`)
    assert.match(stderr, DEVELOPMENT_STORE, String(command))
    assert.equal(snapshot(folder)['plants.db'], before, String(command))
  }
  const restored = ['--store', `sqlite:${join(tempFolder(t), 'plants.db')}`]
  assert.match((await run(t, ['restore', path, ...restored])).stderr, DEVELOPMENT_STORE)
  const { stdout, stderr } = await run(t, ['check', ...store])
  assert.match(stdout + stderr, /a development version made it; export its plants/)
})

test('a store of a development version in PostgreSQL is refused in one sentence, and left as it is', async (t) => {
  const url = await newDatabase(t)
  await (await openStore(t, url)).close()
  // As the files of those versions had other contents, and there were twelve of them.
  await query(url, "UPDATE plantstore_migrations SET checksum = 'before 1.0.0'")
  await query(
    url,
    "INSERT INTO plantstore_migrations SELECT number, 'x' FROM generate_series((SELECT max(number) + 1 FROM plantstore_migrations), 12) AS number",
  )
  const { code, stderr } = await run(t, ['serve', '--port', '0', '--store', url])
  assert.equal(code, 1)
  assert.match(stderr, DEVELOPMENT_STORE)
  assert.equal((await query(url, 'SELECT FROM plantstore_migrations')).length, 12)
})
