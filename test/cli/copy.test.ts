import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { withStore } from '../../src/cli/open-store.ts'
import { MAX_ID, MIN_ID, type NewPlant } from '../../src/domain/plant.ts'
import type { Store } from '../../src/domain/store.ts'
import { readConfig } from '../../src/settings/config.ts'
import { ACTOR } from '../id-suite.ts'
import { TESTER } from '../support/actor.ts'
import { command } from '../support/commands.ts'
import { snapshot, tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { assertEnded, Program, serveStore } from '../support/process.ts'
import { EVERYTHING, exportAll } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const sqlite = (t: TestContext): string => `sqlite:${join(tempFolder(t), 'plants.db')}`
const using = <T>(store: string, work: (store: Store) => Promise<T>): Promise<T> =>
  withStore(readConfig({ store }, {}).store, { create: true, quiet: true }, work)
const put = (store: string, plants: readonly NewPlant[]) =>
  using(store, (open) => open.importPlants(plants, 'add', TESTER))
const plantsIn = (store: string) => using(store, (open) => exportAll(open, EVERYTHING, 'id'))
const copy = (from: string, to: string, ...args: string[]) => command(['copy', '--from', from, '--to', to, ...args])

const SOME = 'SELECT 1 FROM plants LIMIT 1'
async function hasPlants(store: string): Promise<boolean> {
  const path = store.replace('sqlite:', '')
  if (!existsSync(path)) return false
  const db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
  try {
    return db.prepare(SOME).get() !== undefined
  } finally {
    db.close()
  }
}

const SPECIAL = [
  plant(MIN_ID, '', ''),
  plant(-1n, ' \u0001\r\n"\\', undefined),
  plant(2n ** 53n + 1n, 'e\u0301', '\u00e9'),
  plant(MAX_ID, '🌵'.repeat(1000), '🌱'.repeat(200)),
]

test('a copy from SQLite to PostgreSQL and back keeps all plants and all tokens', async (t) => {
  const [first, second, third] = [sqlite(t), await newDatabase(t), sqlite(t)]
  const plants = [...SPECIAL, ...Array.from({ length: 2500 }, (_, i) => plant(BigInt(i)))]
  plants.sort((a, b) => (a.id < b.id ? -1 : 1))
  await put(first, plants)
  const { stdout: secret } = await command(['token', 'create', '--name', 'Kew app', '--store', first])
  for (const [from, to] of [
    [first, second],
    [second, third],
  ] as const) {
    const { code, stdout, stderr } = await copy(from, to)
    assert.match(stderr, /^done: 2,504 plants added, 0 unchanged, 0 refused, 1 token added; checksum [0-9a-f]{32}\n$/m)
    assert.deepEqual([code, stdout], [0, ''])
  }
  assert.deepEqual(await plantsIn(third), plants)
  const { address } = await serveStore(t, second)
  assert.equal((await send('GET', `${address}/plants/1`, { token: secret.trim() })).status, 200)
})

test('repeating a copy writes what is missing, and ends with the same checksum', async (t) => {
  const [from, to] = [sqlite(t), await newDatabase(t)]
  await put(from, SPECIAL)
  await command(['token', 'create', '--name', 'x', '--store', from])
  const first = await copy(from, to)
  await put(from, [plant(1n)])
  const second = await copy(from, to)
  assert.match(second.stderr, /^done: 1 plant added, 4 unchanged, 0 refused, 0 tokens added; checksum /)
  const third = await copy(from, to, '--quiet')
  assert.deepEqual([third.code, third.stderr], [0, ''])
  assert.notEqual(first.stderr.slice(-33), second.stderr.slice(-33))
})

for (const [direction, signal] of [
  ['from PostgreSQL to SQLite', 'SIGTERM'],
  ['from SQLite to PostgreSQL', 'SIGKILL'],
] as const) {
  test(`repeating a copy ${direction} that ${signal} has ended completes the copy`, async (t) => {
    const [file, database] = [sqlite(t), await newDatabase(t)]
    const [from, to] = signal === 'SIGTERM' ? [database, file] : [file, database]
    const plants = Array.from({ length: 30_000 }, (_, i) => plant(BigInt(i)))
    await put(from, plants)
    // Before the network becomes slow: making the schema takes hundreds of round trips.
    if (to === database) await put(to, [])
    // On this slow network the copy is still in progress when the test sees its first plants.
    const proxy = await tcpProxy(t, Number(new URL(database).port))
    proxy.delay = 100
    const slow = new URL(database)
    slow.host = `127.0.0.1:${proxy.port}`
    const slowly = (store: string) => (store === database ? slow.href : store)
    const copying = new Program(t, ['copy', '--from', slowly(from), '--to', slowly(to)])
    const hasBegun = to === file ? () => hasPlants(to) : async () => (await query(to, SOME).catch(() => [])).length > 0
    await until(async () => (await hasBegun()) || !copying.isRunning, 'the copy does not begin')
    copying.signal(signal)
    const { code, stderr } = await copying.outcome
    assert.equal(code, signal === 'SIGTERM' ? 143 : null, stderr)
    if (signal === 'SIGTERM') assert.match(stderr, /^interrupted: .*\nRun the same command again to continue/m)
    const there = (await plantsIn(to)).length
    assert.ok(there > 0 && there < plants.length)
    const again = await copy(from, to)
    const [added, unchanged] = [plants.length - there, there].map((number) => number.toLocaleString('en-US'))
    assert.match(again.stderr, new RegExp(`^done: ${added} plants? added, ${unchanged} unchanged, 0 refused, `, 'm'))
    assert.equal(again.code, 0)
    assert.deepEqual(await plantsIn(to), plants)
  })
}

test('repeating a copy revokes tokens that were revoked since the first copy', async (t) => {
  const [from, to] = [sqlite(t), sqlite(t)]
  for (const name of ['early', 'late', 'good']) await command(['token', 'create', '--name', name, '--store', from])
  const revoke = (wanted: string) =>
    using(from, async (store) => {
      const id = (await store.tokens.listTokens()).find(({ name }) => name === wanted)?.id
      assert.equal(await store.tokens.revokeToken(id ?? ''), 'revoked')
    })
  const good = async () =>
    using(to, async (store) => (await store.tokens.listTokens()).filter((token) => token.revokedAt === undefined))
  const names = async () => new Set((await good()).map(({ name }) => name))
  await revoke('early')
  assert.match((await copy(from, to)).stderr, /0 refused, 3 tokens added; checksum/)
  assert.deepEqual(await names(), new Set(['late', 'good']))
  await revoke('late')
  assert.match((await copy(from, to)).stderr, /0 refused, 0 tokens added, 1 token revoked; checksum/)
  assert.deepEqual(await names(), new Set(['good']))
})

for (const engine of ['SQLite', 'PostgreSQL']) {
  test(`a copy from ${engine} names and leaves out plants that an older program took and no store takes now`, async (t) => {
    const [from, to] = [engine === 'SQLite' ? sqlite(t) : await newDatabase(t), sqlite(t)]
    const kept = plant(3n, '🌵'.repeat(1000), '🌱'.repeat(200))
    await put(from, [plant(1n, 'x'.repeat(1001)), plant(2n, 'x', 'x'.repeat(201)), kept])
    const long = [
      'plant 1: error 40002, name must have at most 1000',
      'plant 2: error 40002, tag must have at most 200',
    ]
    const named = long.map((fault) => new RegExp(`^${fault} characters$`, 'm'))
    assertEnded(await copy(from, to), 1, ...named, /the stores differ: .*1 plant added, 0 unchanged, 2 refused/)
    assert.deepEqual(await plantsIn(to), [kept])
  })
}

test('a copy keeps reservations of ids', async (t) => {
  const [from, to] = [sqlite(t), await newDatabase(t)]
  await using(from, (store) => store.ids.reserveIds(10, undefined, ACTOR))
  for (let i = 0; i < 2; i++) assert.equal((await copy(from, to)).code, 0)
  assert.equal(await using(to, (store) => store.ids.proposeId()), 11n)
})

test('copy --no-tokens leaves the tokens out', async (t) => {
  const [from, to] = [sqlite(t), sqlite(t)]
  await command(['token', 'create', '--name', 'x', '--store', from])
  assert.equal((await copy(from, to, '--no-tokens')).code, 0)
  assert.deepEqual(await using(to, (store) => store.tokens.listTokens()), [])
})

test('a copy fails if the stores differ at its end, and says how', async (t) => {
  const [from, to] = [sqlite(t), await newDatabase(t)]
  await put(from, [plant(1n, 'mine'), plant(2n)])
  await put(to, [plant(1n, 'yours')])
  const conflict = await copy(from, to)
  assert.match(conflict.stderr, /^plant 1: error 40901, the id 1 belongs to a different plant; nothing was changed\n/)
  const pattern = /the stores differ: sqlite:.* has 2 plants with the checksum .*, postgres:.* has 2 with /
  assert.match(conflict.stderr, pattern)
  assert.match(conflict.stderr, /\. A copy neither .*; copy into a new store while no client writes\n$/)
  assert.doesNotMatch(conflict.stderr, /Run the same command again/)
  assert.equal(conflict.code, 1)
  assert.deepEqual(await plantsIn(to), [plant(1n, 'yours'), plant(2n)])
  const more = sqlite(t)
  await put(more, [plant(9n)])
  const surplus = await copy(from, more)
  assertEnded(surplus, 1, /the stores differ: .* has 2 plants .* has 3 with /)
})

test('copy refuses wrong arguments with the reason, and copies nothing', async (t) => {
  const folder = tempFolder(t)
  const settings = join(tempFolder(t), 'own.conf')
  writeFileSync(settings, 'PGSSLMODE=nonsense\n')
  const named = ['copy', '--config', settings, '--from', 'sqlite:a.db', '--to', 'postgres://h/d']
  const wrong: [string[], RegExp, number][] = [
    [['copy', '--from', 'mysql://me:secret@x', '--to', 'sqlite:b.db'], /^plantstore: --from: is neither/, 2],
    [['copy', '--from', 'sqlite:a.db', '--to', 'postgres://h:x/d'], /^plantstore: --to: names an invalid host/, 2],
    [named, /^plantstore: --to: has a sslmode that is none of disable, /, 2],
    [['copy', '--from', 'sqlite:a.db', '--to', 'sqlite:a.db'], /are the same store/, 2],
    [['copy', '--from', 'sqlite:a.db', '--to', 'sqlite:b.db'], /^plantstore: store a\.db: it does not exist/, 1],
  ]
  for (const [args, says, exitCode] of wrong) {
    const { code, stdout, stderr } = await command(args, { cwd: folder })
    assert.match(stderr, says)
    assert.ok(!stderr.includes('secret'))
    assert.deepEqual([code, stdout], [exitCode, ''])
    assert.deepEqual(snapshot(folder), {})
  }
})
