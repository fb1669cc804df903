import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { OperatorError } from '../../src/base/operator-error.ts'
import { readConfigFile, readEnvironment, withFile } from '../../src/cli/config-file.ts'
import { readConfig } from '../../src/settings/config.ts'
import { tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { assertEnded, run, startServer } from '../support/process.ts'

test('serve --print-config prints each setting with its source and without secrets, as a settings file', async (t) => {
  const folder = tempFolder(t)
  const secret = 'a-secret-of-the-file-0123456789'
  writeFileSync(
    join(folder, '.env'),
    `# of another program\nDATABASE_URL=x\nexport PLANTSTORE_PORT=9001\nPLANTSTORE_TOKEN="${secret}"\nPLANTSTORE_HOST=::1\n`,
  )
  const env = {
    PLANTSTORE_HOST: '127.0.0.2',
    PLANTSTORE_PORT: '',
    PLANTSTORE_PROT: '9000',
    PLANTSTORE_STORE: 'postgres://me:hidden@db.example/plants',
  }
  const args = ['serve', '--log-level', 'warn', '--print-config']
  const { code, stdout, stderr } = await run(t, args, { cwd: folder, env })
  const unknown = 'ignored, as no setting has this name: PLANTSTORE_PROT (did you mean PLANTSTORE_PORT?)'
  assert.deepEqual([code, stderr], [0, `plantstore: ${unknown}\n`])
  for (const line of [
    'PLANTSTORE_PORT=9001  # .env',
    'PLANTSTORE_HOST=127.0.0.2  # environment',
    'PLANTSTORE_LOG_LEVEL=warn  # --log-level',
    'PLANTSTORE_STALL_TIMEOUT=30s  # default',
    '# PLANTSTORE_TOKEN is set and hidden  # .env',
    '# PLANTSTORE_BACKUP_FOLDER is not set',
  ]) {
    assert.ok(stdout.split('\n').includes(line), `${line}\n${stdout}`)
  }
  assert.ok(!stdout.includes(secret) && !stdout.includes('hidden@'), stdout)
  writeFileSync(join(folder, 'printed.conf'), stdout)
  const again = readConfig({}, withFile({}, readConfigFile(join(folder, 'printed.conf'))))
  assert.deepEqual([again.port, again.host, again.logLevel, again.stallTimeout], [9001, '127.0.0.2', 'warn', 30_000])
})

test('serve refuses a settings file with a list of all its faults, and opens nothing', async (t) => {
  const folder = tempFolder(t)
  const file = join(folder, 'plants.conf')
  const wrong: [string | Buffer, RegExp][] = [
    ['PLANTSTORE_PROT=1', /plants\.conf: no setting is called PLANTSTORE_PROT \(did you mean PLANTSTORE_PORT\?\)/],
    ['PLANSTORE_PORT=1', /no setting is called PLANSTORE_PORT \(did you mean PLANTSTORE_PORT\?\)/],
    ['OTEL_SERVICE_NAME=a', /OTEL_SERVICE_NAME belongs into the environment of Node\.js/],
    ['SOMETHING_ELSE=1', /no setting is called SOMETHING_ELSE$/],
    ['\nport 9000\n', /line 2 is not NAME=value/],
    ['PLANTSTORE_PORT=1\nPLANTSTORE_PORT=2', /PLANTSTORE_PORT is set more than once/],
    [Buffer.from([0x50, 0xff, 0x3d]), /it is not UTF-8 text/],
    [Buffer.alloc(2 ** 20 + 1, '#'), /it is larger than 1 MiB/],
    ['A\nPLANTSTORE_X_Y_Z_W=1', /line 1 is not NAME=value\n\S+: no setting is called PLANTSTORE_X_Y_Z_W$/],
  ]
  for (const [content, why] of wrong) {
    writeFileSync(file, content)
    assert.throws(
      () => readConfig({}, {}, 'client', readEnvironment({}, file).faults),
      (error) => error instanceof OperatorError && error.exitCode === 2 && why.test(error.message),
      String(content).slice(0, 40),
    )
  }
  assert.throws(() => readConfigFile(join(folder, 'none')), /none: there is no such file/)
  assert.throws(() => readConfigFile(folder), /it is not a file/)
  writeFileSync(file, 'PLANTSTORE_PORT=none\nPGPASSWORD=secret\n')
  const outcome = await run(t, ['serve', '--config', file, '--store', `sqlite:${folder}/plants.db`])
  assertEnded(outcome, 2, /^plantstore: PLANTSTORE_PORT: "none" is not a whole number/)
  writeFileSync(file, 'PLANTSTORE_PROT=1\nPLANTSTORE_PORT=none\n')
  const both = await run(t, ['serve', '--config', file, '--log-level', 'loud'])
  const named = [/PLANTSTORE_PROT/, /^plantstore: PLANTSTORE_PORT: "none"/m, /^plantstore: --log-level: "loud"/m]
  for (const fault of named) assert.match(both.stderr, fault)
  assert.equal(both.code, 2)
})

test('the program ignores a folder called .env, and every command reads the settings file', async (t) => {
  const folder = tempFolder(t)
  mkdirSync(join(folder, '.env'))
  writeFileSync(join(folder, 'own.conf'), 'PLANTSTORE_STORE=sqlite:own.db\n')
  const outcome = await run(t, ['token', 'create', '--name', 'x', '--config', 'own.conf'], { cwd: folder })
  assertEnded(outcome, 0, /created a new store at sqlite:own\.db/)
  const faulty = join(folder, 'faulty')
  mkdirSync(faulty)
  writeFileSync(join(faulty, '.env'), 'PLANTSTORE_STOER=sqlite:own.db\n')
  const refused = await run(t, ['token', 'list'], { cwd: faulty })
  const pattern = /^plantstore: \.env: no setting is called PLANTSTORE_STOER \(did you mean PLANTSTORE_STORE\?\)\n$/
  assert.match(refused.stderr, pattern)
  assert.equal(refused.code, 2)
})

test('SIGHUP applies the log level, names settings that need a restart, and refuses a file with a fault', async (t) => {
  const folder = tempFolder(t)
  const file = join(folder, 'plants.conf')
  writeFileSync(file, 'PLANTSTORE_LOG_LEVEL=warn\n')
  // An environment variable would override the file.
  const env = { PLANTSTORE_LOG_LEVEL: '' }
  const { program, address } = await startServer(t, folder, ['--config', file], { env })
  writeFileSync(file, 'PLANTSTORE_LOG_LEVEL=debug\nPLANTSTORE_MAX_SEARCHES=9\n')
  program.signal('SIGHUP')
  await program.tells(/"reloaded":\["PLANTSTORE_LOG_LEVEL"\],"restart":\["PLANTSTORE_MAX_SEARCHES"\]/)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  await program.tells(/"level":20.*"operation":"createPlant"/)
  writeFileSync(file, 'PLANTSTORE_LOG_LEVEL=loud\n')
  program.signal('SIGHUP')
  await program.tells(/PLANTSTORE_LOG_LEVEL: \\"loud\\" is not one of.*the present one stays/)
  assert.equal(program.stderr.match(/is not one of/g)?.length, 1, program.stderr)
  assert.doesNotMatch(program.stderr, /"stack"|reload\.ts/)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":2,"name":"a"}' })).status, 200)
  program.signal('SIGTERM')
  assert.equal((await program.outcome).code, 0)
})

test('a secret can stand in a file that its variable names, for the service and for commands', async (t) => {
  const folder = tempFolder(t)
  const at = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const token = 'a-token-in-a-file-0123456789'
  const env = {
    PLANTSTORE_TOKEN: '',
    PLANTSTORE_STORE: '',
    PLANTSTORE_TOKEN_FILE: at('token', `${token}\r\n`),
    PLANTSTORE_STORE_FILE: at('store', `sqlite:${folder}/plants.db\n`),
  }
  const { address, program } = await startServer(t, folder, [], { env })
  const headers = { Authorization: `Bearer ${token}` }
  assert.equal((await fetch(`${address}/plants`, { headers })).status, 200)
  const asked = await run(t, ['status', '--url', address], { env })
  assert.deepEqual([asked.code, asked.stderr], [0, ''])
  const opened = await run(t, ['status', '--json'], { env, cwd: folder })
  assert.equal(opened.code, 0)
  program.signal('SIGTERM')
  assert.equal((await program.outcome).code, 0)

  const printed = await run(t, ['serve', '--print-config'], { env, cwd: folder })
  assert.match(printed.stdout, /^# PLANTSTORE_TOKEN is set and hidden {2}# PLANTSTORE_TOKEN_FILE$/m)
  assert.match(printed.stdout, /^PLANTSTORE_STORE=sqlite:\S+ {2}# PLANTSTORE_STORE_FILE$/m)
  assert.ok(!printed.stdout.includes(token))

  for (const [wrong, why] of [
    [join(folder, 'none'), /PLANTSTORE_TOKEN_FILE: \S+none: there is no such file/],
    [folder, /PLANTSTORE_TOKEN_FILE: \S+ is not a file/],
    [at('empty', '\n'), /PLANTSTORE_TOKEN_FILE: \S+empty is empty/],
    [at('two', 'a\nb\n'), /PLANTSTORE_TOKEN_FILE: \S+two has more than one line/],
    [at('large', 'x'.repeat(2 ** 16 + 1)), /PLANTSTORE_TOKEN_FILE: \S+large is larger than 64 KiB/],
    [at('weak', 'weak'), /PLANTSTORE_TOKEN: /],
  ] as const) {
    const given = { ...env, PLANTSTORE_TOKEN_FILE: wrong, PLANTSTORE_PORT: 'none' }
    const { code, stderr } = await run(t, ['serve'], { env: given, cwd: folder })
    assert.match(stderr, why)
    assert.match(stderr, /^plantstore: PLANTSTORE_PORT: "none"/m, 'all faults are named at once')
    assert.equal(code, 2)
  }
  const both = await run(t, ['status'], { env: { ...env, PLANTSTORE_TOKEN: token }, cwd: folder })
  assertEnded(both, 2, /PLANTSTORE_TOKEN_FILE: PLANTSTORE_TOKEN is set, too; set one of them/)
})
