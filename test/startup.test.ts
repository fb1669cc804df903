import assert from 'node:assert/strict'
import { type ExecFileOptions, execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { command } from './support/commands.ts'
import { snapshot, tempFolder } from './support/files.ts'
import { send } from './support/load.ts'
import { notTestedHere, runs } from './support/not-tested.ts'
import { Program, run, startServer, TOKEN } from './support/process.ts'

/** Starts a server without any setting except a free port, as a new user does. */
async function startPlain(t: TestContext, cwd: string): Promise<{ program: Program; banner: string }> {
  const program = new Program(t, ['serve', '--port', '0'], { cwd })
  const banner = await program.says((stdout) => (/curl .*\n/.test(stdout) ? stdout : undefined))
  return { program, banner }
}

const tokenIn = (folder: string): string => readFileSync(join(folder, 'data/plants.db.first-token'), 'utf8').trim()
const curlIn = (banner: string): string => /curl .*/.exec(banner)?.[0] ?? ''

/** Runs the curl line of a banner in a shell. */
async function assertCurlWorks(t: TestContext, banner: string, options: ExecFileOptions, says: string): Promise<void> {
  if (!runs('curl', '--version')) {
    notTestedHere(t, 'the curl line of a start, because there is no curl')
    return assert.ok(curlIn(banner).includes(says))
  }
  const { stdout } = await promisify(execFile)('sh', ['-c', curlIn(banner)], options)
  assert.deepEqual(JSON.parse(String(stdout)), { name: 'Monstera deliciosa', tag: 'houseplant' })
}

test('the first start prints its address, its store and its token, and a later one creates none', async (t) => {
  const folder = tempFolder(t)
  const { program, banner } = await startPlain(t, folder)
  assert.match(banner, /^Plantstore is ready\.$/m)
  assert.match(banner, /^ {2}Address {2}http:\/\/127\.0\.0\.1:[1-9]\d*$/m)
  assert.match(banner, /^ {2}Store {4}sqlite:data\/plants\.db \(new\)$/m)
  assert.match(banner, /^ {2}Token {4}in data\/plants\.db\.first-token$/m)
  const token = tokenIn(folder)
  assert.match(token, /^ps_[0-9A-Za-z]{49}$/)
  const header = `-H "Authorization: Bearer $(cat 'data/plants.db.first-token')"`
  await assertCurlWorks(t, banner, { cwd: folder }, header)
  await program.ends()
  const later = await startPlain(t, folder)
  assert.doesNotMatch(later.banner, /Token|\(new\)|ps_/)
  const env = { ...process.env, PLANTSTORE_TOKEN: token }
  await assertCurlWorks(t, later.banner, { env }, '$PLANTSTORE_TOKEN')
})

for (const url of ['https://plants.example', 'https://example.org/garden']) {
  test(`a start with --public-url ${url} prints addresses below it, and listens on its own`, async (t) => {
    const args = ['--public-url', `${url}/`, '--metrics-port', '0']
    const program = new Program(t, ['serve', '--port', '0', ...args], { cwd: tempFolder(t) })
    const banner = await program.says((stdout) => (/curl .*\n/.test(stdout) ? stdout : undefined))
    for (const line of [`Address  ${url}`, `Page     ${url}/`, `API      ${url}/docs`]) {
      assert.ok(banner.includes(`\n  ${line}\n`), line)
    }
    assert.match(banner, /^ {2}Metrics {2}http:\/\/127\.0\.0\.1:[1-9]\d*\/metrics$/m)
    assert.ok(curlIn(banner).includes(` ${url}/plants `))
  })
}

test('a start with PLANTSTORE_TOKEN accepts that token, does not store it, and creates no other', async (t) => {
  const folder = tempFolder(t)
  const { address, storePath, program } = await startServer(t, folder, [], { env: { PLANTSTORE_LOG_LEVEL: 'debug' } })
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  assert.equal((await send('POST', `${address}/plants`, { body: '{', token: 'another-token-0123456789' })).status, 401)
  assert.match((await command(['token', 'list', '--store', `sqlite:${storePath}`])).stdout, /^ID.*\n$/)
  const { stdout, stderr } = await program.ends()
  assert.ok(!stdout.includes(TOKEN) && !stderr.includes(TOKEN), 'the token is in the output')
  assert.ok(!readFileSync(storePath).includes(TOKEN), 'the token is in the store')
})

test('serve refuses a secret of "token create" as PLANTSTORE_TOKEN, and creates no store', async (t) => {
  const folder = tempFolder(t)
  const token = (await command(['token', 'create', '--name', 'reader', '--scopes', 'plants:read'], { cwd: folder }))
    .stdout
  const before = snapshot(folder)
  const env = { PLANTSTORE_TOKEN: token.trim() }
  const { code, stdout, stderr } = await run(t, ['serve', '--port', '0'], { cwd: folder, env })
  assert.match(
    stderr,
    /^plantstore: PLANTSTORE_TOKEN: begins with ps_, .*Leave it out of the environment of serve.*\n$/,
  )
  assert.ok(!stderr.includes(token.trim()))
  assert.deepEqual([code, stdout, snapshot(folder)], [2, '', before])
  const listed = await run(t, ['token', 'list'], { cwd: folder, env })
  assert.deepEqual([listed.code, listed.stderr], [0, ''], 'other commands use the variable as the token of a client')
})

test('a start with --public warns what everyone may read, and one with a wrong part makes no store', async (t) => {
  const env = { PLANTSTORE_LOG_LEVEL: 'info', PLANTSTORE_PUBLIC: 'house 1/,bed' }
  const { program, address } = await startServer(t, tempFolder(t), [], { env })
  await program.tells(
    /"level":40.*everyone who .* may read the plants with the tags \\"house 1\/…\\", \\"bed\\" without/,
  )
  assert.equal((await fetch(`${address}/plants`)).status, 200)
  const folder = tempFolder(t)
  const { code, stderr } = await run(t, ['serve', '--port', '0', '--public', `a${',b'.repeat(20)}`], { cwd: folder })
  assert.match(stderr, /^plantstore: --public: takes 1 to 20 texts of 1 to 200 characters without U\+0000 or .*\n$/)
  assert.deepEqual([code, snapshot(folder)], [2, {}])
})

test('the banner says that a token is configured', async (t) => {
  const configured = await startServer(t, tempFolder(t), [], { env: { PLANTSTORE_LOG_LEVEL: 'info' } })
  assert.match(configured.program.stdout, /^ {2}Token {4}configured .*, with all scopes$/m)
  await configured.program.tells(/"configuredToken":true/)
  const { program, banner } = await startPlain(t, tempFolder(t))
  assert.doesNotMatch(banner, /configured/)
  await program.tells(/"configuredToken":false/)
})

test('the banner links the contract if the page is switched off', async (t) => {
  const { program } = await startServer(t, tempFolder(t), ['--page', 'off'])
  const api = /^ {2}API {6}(\S+)$/m.exec(program.stdout)?.[1] ?? assert.fail(program.stdout)
  assert.match(api, /\/openapi\.json$/)
  assert.equal((await fetch(api)).status, 200)
})

test('commands and the log of the service report variables with misspelt names', async (t) => {
  const folder = tempFolder(t)
  const env = { PLANTSTORE_SORE: 'sqlite:other.db' }
  const told = 'ignored, as no setting has this name: PLANTSTORE_SORE (did you mean PLANTSTORE_STORE?)'
  const { code, stderr } = await command(['token', 'create', '--name', 'x'], { cwd: folder, env })
  assert.deepEqual([code, stderr.split('\n')[0]], [0, `plantstore: ${told}`])
  assert.equal((await command(['copy'], { cwd: folder, env })).stderr.split('\n')[0], `plantstore: ${told}`)
  assert.equal((await command(['openapi'], { cwd: folder, env })).stderr, '')
  const { program } = await startServer(t, folder, [], { env: { ...env, PLANTSTORE_LOG_LEVEL: 'info' } })
  await program.tells(/"level":40,.*no setting has this name/)
})

test('a start and commands ignore what Kubernetes sets beside a Service named plantstore, and say so', async (t) => {
  const folder = tempFolder(t)
  // https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
  const env = {
    PLANTSTORE_SERVICE_HOST: '10.0.0.11',
    PLANTSTORE_PORT: 'tcp://10.0.0.11:8080',
    PLANTSTORE_METRICS_PORT: 'udp://10.0.0.12:9090',
    PLANTSTORE_LOG_LEVEL: 'info',
    PLANTSTORE_STORE: `sqlite:${join(folder, 'plants.db')}`,
  }
  const told =
    /no setting has this name: PLANTSTORE_SERVICE_HOST; .* of a Service: PLANTSTORE_METRICS_PORT, PLANTSTORE_PORT/
  const { program } = await startServer(t, folder, [], { env })
  await program.tells(told)
  for (const args of [
    ['token', 'list'],
    ['backup', 'copy.db'],
    ['serve', '--print-config'],
  ]) {
    const { code, stderr } = await command(args, { cwd: folder, env })
    assert.deepEqual([code, told.test(stderr.split('\n')[0] ?? '')], [0, true], stderr)
  }
  const { stdout } = await command(['serve', '--print-config'], { cwd: folder, env })
  assert.match(stdout, /^PLANTSTORE_PORT=8080 {2}# default$/m)
})

test('the service writes the banner to standard output, and its log as JSON to standard error', async (t) => {
  const { program, address } = await startServer(t, tempFolder(t), [], { env: { PLANTSTORE_LOG_LEVEL: 'debug' } })
  await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
  const banner = program.stdout
  const { stdout, stderr } = await program.ends()
  assert.equal(stdout, banner)
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string })
  const messages = lines.map(({ msg }) => msg)
  // Lines of the audit log come up to 100 ms later, in any place.
  const found = messages.filter((message) => message !== 'audit')
  assert.deepEqual(found, ['serving', 'answered', 'stopping', 'stopped'])
  assert.equal(messages.length, 5)
})

test('serve creates the missing folder of the default store, but not that of a named store', async (t) => {
  const folder = tempFolder(t)
  mkdirSync(join(folder, 'empty'))
  const { code } = await run(t, ['serve', '--port', '0', '--store', 'sqlite:missing/plants.db'], { cwd: folder })
  assert.equal(code, 1)
  assert.deepEqual(snapshot(folder), { empty: 'folder' })
})
