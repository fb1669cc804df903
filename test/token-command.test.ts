import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SCOPES } from '../src/domain/token.ts'
import { command } from './support/commands.ts'
import { snapshot, tempFolder } from './support/files.ts'
import { send } from './support/load.ts'
import { notTestedHere } from './support/not-tested.ts'
import { run, startServer } from './support/process.ts'
import { until } from './support/until.ts'

test('a token created while the store is served works at once and within its scopes', async (t) => {
  const { address, storePath } = await startServer(t, tempFolder(t))
  const create = async (...flags: string[]): Promise<string> => {
    const { code, stdout, stderr } = await command(['token', 'create', '--store', `sqlite:${storePath}`, ...flags])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^ps_[0-9A-Za-z]{49}\n$/, 'standard output is the secret alone, for pipes')
    return stdout.trim()
  }
  const writer = await create('--name', 'writer')
  const reader = await create('--name', 'reader', '--scopes', 'plants:read')
  const body = '{"id":1,"name":"a"}'
  assert.equal((await send('POST', `${address}/plants`, { token: writer, body })).status, 200)
  assert.equal((await send('POST', `${address}/plants`, { token: reader, body })).error, 40301)
})

test('a command whose output is lost, such as a secret on a full disk, exits with 1 and a message', async (t) => {
  if (!existsSync('/dev/full')) return notTestedHere(t, 'a standard output without space, as there is no /dev/full')
  const store = ['--store', `sqlite:${join(tempFolder(t), 'plants.db')}`]
  assert.equal((await command(['token', 'create', '--name', 'first', ...store])).code, 0)
  const under = ['sh', '-c', '"$0" "$@" > /dev/full']
  for (const argv of [
    ['token', 'create', '--name', 'lost', ...store],
    ['token', 'list', ...store],
    ['actions', ...store, '--json'],
    ['--help'],
  ]) {
    const { code, stderr } = await run(t, argv, { under })
    assert.match(stderr, /plantstore: standard output: no space is left on the device\n$/, argv.join(' '))
    assert.equal(code, 1)
  }
})

test('--scopes all gives a token every scope, with which it may make any token', async (t) => {
  const { address, storePath } = await startServer(t, tempFolder(t))
  const flags = ['--store', `sqlite:${storePath}`, '--name', 'administrator', '--json']
  const all = await command(['token', 'create', ...flags, '--scopes', 'all'])
  const { secret, scopes } = JSON.parse(all.stdout) as { readonly secret: string; readonly scopes: readonly string[] }
  assert.deepEqual(scopes, SCOPES)
  for (const scope of SCOPES) {
    const body = JSON.stringify({ name: scope, scopes: [scope] })
    assert.equal((await send('POST', `${address}/tokens`, { token: secret, body })).status, 201, scope)
  }
  assert.equal((await send('GET', `${address}/webhooks`, { token: secret })).status, 200)
})

test('a token revoked while the store is served stops working within a second', async (t) => {
  const { address, storePath } = await startServer(t, tempFolder(t))
  const store = ['--store', `sqlite:${storePath}`]
  const token = (await command(['token', 'create', '--name', 'short-lived', ...store])).stdout.trim()
  const status = async () => (await send('POST', `${address}/plants`, { token, body: '{"id":1,"name":"a"}' })).status
  assert.equal(await status(), 200)
  const id = /^(tok_\w+) /m.exec((await command(['token', 'list', ...store])).stdout)?.[1] ?? ''
  // Constant use must not keep the token in the cache.
  let stopped = false
  const use = (async () => {
    while (!stopped) await status()
  })()
  assert.equal((await command(['token', 'revoke', id, ...store])).code, 0)
  const revokedAt = performance.now()
  let slowest = 0
  for (let sentAt = revokedAt; (await status()) === 200; sentAt = performance.now()) {
    slowest = Math.max(slowest, performance.now() - sentAt)
    // On a busy machine, the service notices as late as it answers.
    assert.ok(sentAt - revokedAt < 1500 + 10 * slowest, 'it still works after 1.5 s')
  }
  stopped = true
  await use
  assert.equal(await status(), 401)
})

test('plantstore token list prints all tokens without secrets', async (t) => {
  const folder = tempFolder(t)
  const store = ['--store', `sqlite:${folder}/plants.db`]
  const make = (...flags: string[]) => command(['token', 'create', ...store, ...flags])
  const first = await make('--name', 'label printer', '--scopes', 'plants:read', '--expires', '2099-01-02')
  const second = await make('--name', 'Kew app 🌿', '--part', 'greenhouse 1/', '--part', 'bed\u001b 3')
  const { code, stdout } = await command(['token', 'list', ...store])
  assert.equal(code, 0)
  const [head = '', ...rows] = stdout.trimEnd().split('\n')
  assert.deepEqual(head.split(/ {2,}/), ['ID', 'NAME', 'SCOPES', 'PART', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'])
  const [printer, kew] = rows.map((row) => row.split(/ {2,}/))
  assert.deepEqual(printer?.toSpliced(4, 1).slice(1), [
    'label printer',
    'plants:read',
    'all',
    '2099-01-02T00:00:00Z',
    'never',
    'never',
  ])
  assert.deepEqual(kew?.toSpliced(4, 1).slice(1), [
    'Kew app 🌿',
    'plants:read,plants:write',
    'greenhouse 1/, bed\\u{1b} 3',
    'never',
    'never',
    'never',
  ])
  const kept = stdout + readFileSync(join(folder, 'plants.db'), 'latin1')
  for (const { stdout: secret } of [first, second]) assert.ok(!kept.includes(secret.trim()), 'the list shows a secret')
})

test('revoking an unknown token, or listing an absent store, exits with 1', async (t) => {
  const folder = tempFolder(t)
  const store = ['--store', `sqlite:${folder}/plants.db`]
  const noStore = await command(['token', 'list', ...store])
  assert.match(noStore.stderr, /^plantstore: store .*plants\.db: it does not exist\n$/)
  assert.equal(noStore.code, 1)
  await command(['token', 'create', '--name', 'x', ...store])
  const noToken = await command(['token', 'revoke', 'tok_unknown', ...store])
  assert.match(noToken.stderr, /^plantstore: there is no active token tok_unknown; .*\n$/)
  assert.equal(noToken.code, 1)
})

test('plantstore token revoke needs a flag to revoke the last active token with the scope tokens', async (t) => {
  const store = ['--store', `sqlite:${tempFolder(t)}/plants.db`]
  for (const [name, scopes] of [
    ['reader', 'plants:read'],
    ['manager', 'tokens'],
  ] as const) {
    assert.equal((await command(['token', 'create', '--name', name, '--scopes', scopes, ...store])).code, 0)
  }
  const { stdout } = await command(['token', 'list', ...store])
  const id = (name: string) => new RegExp(`^(tok_\\w+) +${name} `, 'm').exec(stdout)?.[1] ?? assert.fail(stdout)
  const revoke = (...args: string[]) => command(['token', 'revoke', ...args, ...store])
  assert.equal((await revoke(id('reader'))).code, 0)
  const spared = await revoke(id('manager'))
  assert.match(spared.stderr, /^plantstore: this is the last active token with the scope tokens, .* --even-last\n$/)
  assert.equal(spared.code, 1)
  assert.equal((await revoke(id('manager'), '--even-last')).code, 0)
})

test('plantstore token rotate makes a secret with the same rights, and ends the old one after the overlap', async (t) => {
  const { address, storePath } = await startServer(t, tempFolder(t))
  const audit = join(tempFolder(t), 'audit.log')
  const store = ['--store', `sqlite:${storePath}`]
  const flags = ['--name', 'gate', '--scopes', 'plants:read', '--part', 'a/', '--expires', '2099-01-02', '--json']
  const old = JSON.parse((await command(['token', 'create', ...flags, ...store])).stdout) as Made
  assert.deepEqual(old.part, ['a/'])
  const rotate = (...args: string[]) => command(['token', 'rotate', ...args, ...store, '--audit-log', audit])
  const statusOf = async (token: string) => (await send('GET', `${address}/plants`, { token })).status
  const first = await rotate(old.id, '--json')
  const made = JSON.parse(first.stdout) as Made
  assert.deepEqual({ ...made, id: '', secret: '' }, { ...old, id: '', secret: '' })
  assert.match(first.stderr, new RegExp(`^${old.id} works until \\S+Z at the latest\\. Created ${made.id}\\.`))
  const [line = ''] = readFileSync(audit, 'utf8').split('\n')
  const { operation, rotated, created } = JSON.parse(line) as Record<string, unknown>
  assert.deepEqual([operation, rotated, created], ['rotateToken', old.id, made.id])
  assert.ok(!line.includes(made.secret))
  assert.deepEqual([await statusOf(old.secret), await statusOf(made.secret)], [200, 200])
  const second = await rotate(made.id, '--overlap', '0h')
  assert.match(second.stdout, /^ps_[0-9A-Za-z]{49}\n$/, 'standard output is the secret alone, for pipes')
  await until(async () => (await statusOf(made.secret)) === 401, 'the service takes the old secret on')
  assert.deepEqual([await statusOf(old.secret), await statusOf(second.stdout.trim())], [200, 200])
})

test('plantstore token rotate refuses a token that is not active and a wrong overlap, and changes nothing', async (t) => {
  const store = ['--store', `sqlite:${tempFolder(t)}/plants.db`]
  const create = async () =>
    JSON.parse((await command(['token', 'create', '--name', 'x', '--json', ...store])).stdout) as Made
  const [good, revoked] = [await create(), await create()]
  assert.equal((await command(['token', 'revoke', revoked.id, ...store])).code, 0)
  const list = async () => (await command(['token', 'list', '--json', ...store])).stdout
  const before = await list()
  for (const [args, code, says] of [
    [['tok_unknown'], 1, /^plantstore: there is no active token tok_unknown; /],
    [[revoked.id], 1, /^plantstore: there is no active token /],
    [[good.id, '--overlap', '8d'], 2, /^plantstore: --overlap: "8d" is not a time up to 7d, such as 0h, 12h or 1d\n/],
    [[good.id, '--overlap', '-1h'], 2, /^plantstore: --overlap: "-1h" is not/],
    [[good.id, '--overlap', '60'], 2, /^plantstore: --overlap: "60" is not/],
    [[], 2, /^plantstore: missing required argument 'id'/],
  ] as const) {
    const refused = await command(['token', 'rotate', ...args, ...store])
    assert.match(refused.stderr, says)
    assert.deepEqual([refused.code, refused.stdout], [code, ''])
  }
  assert.equal(await list(), before)
})

interface Made {
  readonly part?: readonly string[]
  readonly id: string
  readonly secret: string
}

test('plantstore token create refuses a wrong name, scope, part or expiry, and creates no token', async (t) => {
  const folder = tempFolder(t)
  const store = ['--store', `sqlite:${folder}/plants.db`]
  for (const [flags, says] of [
    [[], /^plantstore: --name: say what the token is for, such as --name "label printer"\n/],
    [['--nam', 'x'], /^plantstore: unknown option '--nam'\n\(Did you mean --name\?\)\n/],
    [['--name', ''], /^plantstore: --name: must have 1 to 100 characters\n/],
    [['--name', 'a\u202eb'], /^plantstore: --name: must not contain control/],
    [['--name', 'x', '--scopes', 'tokens,plants'], /^plantstore: --scopes: "plants" is not among/],
    [['--name', 'x', '--scopes', 'all,tokens'], /^plantstore: --scopes: "all" is not among .*; "all" alone stands for/],
    [['--name', 'x', '--scopes', 'All'], /^plantstore: --scopes: "All" is not among/],
    [['--name', 'x', '--scopes', ''], /^plantstore: --scopes: "" is not among/],
    [['--name', 'x', '--part', ''], /^plantstore: --part: takes 1 to 20 texts of 1 to 200 characters/],
    [['--name', 'x', '--expires', '2999-02-30'], /^plantstore: --expires: "2999-02-30" is not a time/],
    [['--name', 'x', '--expires', '9999-12-31T23:59:59-05:00'], /^plantstore: --expires: .* up to the year 9999,/],
    [['--name', 'x', '--expires', '2020-01-01T00:00Z'], /^plantstore: --expires: .* is not a time in the future/],
  ] as const) {
    const { code, stderr } = await command(['token', 'create', ...flags, ...store])
    assert.match(stderr, says)
    assert.equal(code, 2)
  }
  assert.deepEqual(snapshot(folder), {})
})
