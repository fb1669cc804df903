import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { command } from '../support/commands.ts'
import { tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { newDatabase } from '../support/postgres.ts'
import { startServer, TOKEN } from '../support/process.ts'
import { scrapeAt } from '../support/scrape.ts'
import { until } from '../support/until.ts'

const env = { PLANTSTORE_TOKEN: TOKEN }

test('status prints the contents of a store and the state of its service, as text or JSON', async (t) => {
  const backups = tempFolder(t)
  const schedule = ['--backup-every', '1m', '--backup-folder', backups]
  const { address, storePath } = await startServer(t, tempFolder(t), schedule)
  await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
  const store = ['--store', `sqlite:${storePath}`]
  // The service counts its plants in the background.
  await until(async () => {
    const metrics = await scrapeAt(address)
    return metrics.value('plantstore_plants') === 1 && metrics.value('plantstore_search_index_behind') === 0
  }, 'the metrics do not count the plant, or the search index stays behind')
  await command(['token', 'create', '--name', 'x', ...store])
  const revoked = await command(['token', 'create', '--name', 'y', '--json', ...store])
  await command(['token', 'revoke', (JSON.parse(revoked.stdout) as { id: string }).id, ...store])
  const [words, json, service, serviceJson] = await Promise.all([
    command(['status', ...store]),
    command(['status', '--json', ...store]),
    command(['status', '--url', address], { env }),
    command(['status', '--json', '--url', address], { env }),
  ])
  for (const { code, stderr } of [words, json, service, serviceJson]) assert.deepEqual([code, stderr], [0, ''])
  for (const line of [
    `store     ${storePath}`,
    'engine    sqlite',
    'served    yes, by a service on this machine',
    'plants    1',
    'tokens    1 active',
    'index     0 changes behind',
  ]) {
    assert.ok(words.stdout.includes(`${line}\n`), words.stdout)
  }
  assert.match(words.stdout, /^size {6}[\d,]+ bytes, and [\d,]+ of log$/m)
  assert.match(words.stdout, /^schema {4}\d+$/m)
  assert.match(words.stdout, /^identity {2}[0-9a-f]{8}$/m)
  const { plants, tokens, isServed, bytes, schema, index } = JSON.parse(json.stdout) as Record<string, unknown>
  assert.deepEqual([plants, tokens, isServed, typeof bytes, typeof schema], [1, 1, true, 'object', 'number'])
  assert.deepEqual(index, { state: 'ready', behind: 0 })
  assert.match(service.stdout, new RegExp(`^service  ${address}: ready\\nversion  \\d+\\.\\d+\\.\\d+, on Node.js \\d+`))
  assert.match(service.stdout, /^uptime {3}[\d.]+ s$/m)
  assert.match(service.stdout, /^plants {3}1$/m)
  assert.match(service.stdout, /^size {5}[\d,]+ bytes, and [\d,]+ of log$/m)
  assert.match(service.stdout, /^index {4}\d+ changes behind$/m)
  assert.match(service.stdout, /^backups {2}(?:none yet|newest from \d{4}-\S+); 0 failed since the start$/m)
  const { isReady, engine, creates, failedBackups, ...rest } = JSON.parse(serviceJson.stdout) as Record<string, unknown>
  assert.deepEqual([isReady, engine, creates, failedBackups, rest['plants']], [true, 'sqlite', 0, 0, 1])
})

test('token create and token list print JSON with --json', async (t) => {
  const store = ['--store', `sqlite:${join(tempFolder(t), 'plants.db')}`]
  const created = await command(['token', 'create', '--name', 'Kew app', '--expires', '90d', '--json', ...store])
  const { secret, name } = JSON.parse(created.stdout) as Record<string, unknown>
  assert.match(String(secret), /^ps_[0-9A-Za-z]{49}$/)
  const listed = await command(['token', 'list', '--json', ...store])
  assert.ok(!listed.stdout.includes(String(secret)))
  const [token = {}] = JSON.parse(listed.stdout) as Record<string, unknown>[]
  assert.deepEqual([token['name'], token['scopes']], [name, ['plants:read', 'plants:write']])
  assert.match(String(token['expiresAt']), /^\d{4}-\d\d-\d\dT/)
})

test('status says why it cannot read a store or reach its service', async (t) => {
  const folder = tempFolder(t)
  const { address } = await startServer(t, folder)
  const [missing, nowhere, unknown, both] = await Promise.all([
    command(['status', '--store', `sqlite:${join(folder, 'none.db')}`]),
    command(['status', '--url', 'http://127.0.0.1:1'], { env }),
    command(['status', '--url', address], { env: { PLANTSTORE_TOKEN: 'not-the-token-of-it' } }),
    command(['status', '--url', address, '--store', 'sqlite:x'], { env }),
  ])
  assert.match(missing.stderr, /^plantstore: store \S+none\.db: it does not exist\n$/)
  assert.match(nowhere.stderr, /nothing answers there; is the service running\?/)
  assert.match(unknown.stderr, /answered 401: error 40102/)
  assert.match(both.stderr, /--url and --store: give only one of them/)
  assert.deepEqual([missing.code, nowhere.code, unknown.code, both.code], [1, 1, 1, 2])
})

test('status counts the contents of a PostgreSQL store', async (t) => {
  const store = ['--store', await newDatabase(t)]
  const { stdout: secret } = await command(['token', 'create', '--name', 'x', ...store])
  assert.ok(secret.length > 0)
  const { code, stdout } = await command(['status', ...store])
  assert.match(stdout, /^engine {2}postgres$/m)
  assert.match(stdout, /^plants {2}0$/m)
  assert.match(stdout, /^tokens {2}1 active$/m)
  assert.equal(code, 0)
})
