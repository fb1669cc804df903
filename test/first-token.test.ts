import assert from 'node:assert/strict'
import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { makeFirstToken } from '../src/cli/token.ts'
import { hashSecret } from '../src/domain/token.ts'
import { AuditLog } from '../src/http/answer/audit-log.ts'
import { readConfig } from '../src/settings/config.ts'
import { snapshot, tempFolder } from './support/files.ts'
import { blockIn } from './support/guide.ts'
import { send } from './support/load.ts'
import { notTestedHere } from './support/not-tested.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { newDatabase } from './support/postgres.ts'
import { Program, type ProgramOptions, run } from './support/process.ts'
import { failing, hasStrace } from './support/strace.ts'
import { hasTerminal, ON_TERMINAL } from './support/terminal.ts'

const FILE = 'plants.db.first-token'

/** Starts a server without a configured token. Resolves with its banner. */
async function start(t: TestContext, cwd: string, options: ProgramOptions = {}): Promise<[Program, string]> {
  const program = new Program(t, ['serve', '--port', '0', '--store', 'sqlite:plants.db'], { cwd, ...options })
  return [program, await program.says((stdout) => (/curl .*\r?\n/.test(stdout) ? stdout : undefined))]
}

const serveIn = (folder: string): string[] => ['serve', '--port', '0', '--store', `sqlite:${join(folder, 'plants.db')}`]

/** Starts a server, and uses the first token that it writes to its file. */
async function assertWorks(t: TestContext, folder: string): Promise<void> {
  const [program, banner] = await start(t, folder)
  assert.match(banner, /^ {2}Token {4}in plants\.db\.first-token$/m)
  assert.equal(statSync(join(folder, FILE)).mode & 0o777, 0o600)
  const token = readFileSync(join(folder, FILE), 'utf8').trim()
  const address = /http:\S+/.exec(banner)?.[0]
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}', token })).status, 200)
  await program.ends()
}

/** Makes the first token of a new store in a folder, as a start without a terminal does. */
async function madeIn(t: TestContext, folder: string) {
  const path = join(folder, 'plants.db')
  const { store } = await openSqlite(t, { path })
  const config = readConfig({ store: `sqlite:${path}` }, {})
  const made = makeFirstToken(store, config, new AuditLog({ write: () => {} }))
  made.catch(() => {})
  return { store, made }
}

suite('the first token', () => {
  test('is written to a file that only its owner can read if the start has no terminal', async (t) => {
    const folder = tempFolder(t)
    const [program, banner] = await start(t, folder, { under: ['sh', '-c', 'umask 0; exec "$0" "$@"'] })
    assert.match(banner, /^ {2}Token {4}in plants\.db\.first-token$/m)
    assert.equal(statSync(join(folder, FILE)).mode & 0o777, 0o600)
    const text = readFileSync(join(folder, FILE), 'utf8')
    assert.match(text, /^ps_[0-9A-Za-z]{49}\n$/)
    assert.match(banner, /^ {2}Page {5}http:[^#]+\/$/m)
    const address = /http:\S+/.exec(banner)?.[0]
    const body = '{"id":1,"name":"a"}'
    assert.equal((await send('POST', `${address}/plants`, { body, token: text.trim() })).status, 200)
    await program.kill()
    assert.ok(!`${program.stdout}${program.stderr}`.includes(text.trim()))
  })

  test('is shown on a terminal, and written to no file', async (t) => {
    if (!hasTerminal) return notTestedHere(t, 'the first token on a terminal, as there is no command script')
    const folder = tempFolder(t)
    const [program, banner] = await start(t, folder, { under: ON_TERMINAL })
    const secret = /^ {2}Token {4}(ps_[0-9A-Za-z]{49})\r$/m.exec(banner)?.[1]
    assert.ok(secret !== undefined)
    const [, port = ''] = /^ {2}Address {2}http:\/\/127\.0\.0\.1:(\d+)\r$/m.exec(banner) ?? []
    const guide = blockIn('docs/guides/people.md', 'text').trimEnd()
    const line = guide.replace('8080', port).replace(/ps_\w+/, secret)
    assert.match(line, /^ {2}Page {5}http:.*#token=ps_\w+$/)
    assert.ok(banner.includes(`\n${line}\r\n`), `the guide shows:\n${line}\nand the first start:\n${banner}`)
    await program.kill()
    assert.ok(!(FILE in snapshot(folder)))
  })

  test('replaces no file: the start fails instead', async (t) => {
    const folder = tempFolder(t)
    writeFileSync(join(folder, FILE), 'mine')
    const args = ['serve', '--port', '0', '--store', 'sqlite:plants.db']
    const { code, stdout, stderr } = await run(t, args, { cwd: folder, env: { PLANTSTORE_LOG_LEVEL: 'error' } })
    assert.equal(stderr, `plantstore: plants.db.first-token: already exists and holds no access token; move it away\n`)
    assert.deepEqual([code, stdout, readFileSync(join(folder, FILE), 'utf8')], [1, '', 'mine'])
    rmSync(join(folder, FILE))
    const [, banner] = await start(t, folder)
    assert.match(banner, /first-token/, 'the failed start created no token')
  })

  for (const [call, fault, message] of [
    ['write', 'signal=KILL', ''],
    ['write', 'error=ENOSPC', 'no space is left on the device'],
    ['fsync', 'error=EIO', 'the device reports an I/O error'],
  ] as const) {
    test(`works after the next start if ${call} of its file ends in ${fault}`, async (t) => {
      if (!hasStrace) return notTestedHere(t, `a first start interrupted by ${fault}, as strace is not there`)
      const folder = tempFolder(t)
      const path = join(folder, FILE)
      const under = failing(call, fault, path)
      const { stdout, stderr } = await run(t, serveIn(folder), { cwd: folder, under })
      assert.equal(stdout, '', 'the start got no further')
      assert.equal(stderr, message && `plantstore: ${path}: ${message}\n`)
      assert.equal(FILE in snapshot(folder), message === '')
      await assertWorks(t, folder)
    })
  }

  for (const [what, text] of [
    ['nothing', ''],
    ['the start of a token', 'ps_4Vx'],
    ['a token that the store does not have', `ps_${'0'.repeat(49)}\n`],
    ['zeros', '\0'.repeat(53)],
  ] as const) {
    test(`is written anew if a file beside a store without tokens holds ${what}`, async (t) => {
      const folder = tempFolder(t)
      writeFileSync(join(folder, FILE), text, { mode: 0o644 })
      const { store, made } = await madeIn(t, folder)
      assert.equal((await made)?.kind, 'file')
      assert.equal(statSync(join(folder, FILE)).mode & 0o777, 0o600)
      const secret = readFileSync(join(folder, FILE), 'utf8').trim()
      assert.equal((await store.tokens.findToken(hashSecret(secret)))?.name, 'operator')
    })
  }

  test('is written through no symbolic link', async (t) => {
    const [folder, other] = [tempFolder(t), join(tempFolder(t), 'other')]
    writeFileSync(other, '')
    symlinkSync(other, join(folder, FILE))
    const { made } = await madeIn(t, folder)
    await assert.rejects(made, /first-token: already exists and holds no access token; move it away$/)
    assert.equal(readFileSync(other, 'utf8'), '')
  })

  test('is not created in a store that ever had a token, even if all are revoked', async (t) => {
    const folder = tempFolder(t)
    const [program] = await start(t, folder)
    await program.ends()
    rmSync(join(folder, FILE))
    const store = ['--store', 'sqlite:plants.db']
    const id = /^tok_\w+/m.exec((await run(t, ['token', 'list', ...store], { cwd: folder })).stdout)?.[0] ?? ''
    assert.equal((await run(t, ['token', 'revoke', id, '--even-last', ...store], { cwd: folder })).code, 0)
    const listed = (await run(t, ['token', 'list', ...store], { cwd: folder })).stdout
    assert.match(listed, new RegExp(`^${id} +operator .* never +never +\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z$`, 'm'))
    const [, banner] = await start(t, folder)
    assert.doesNotMatch(banner, /Token {4}/)
    assert.ok(!(FILE in snapshot(folder)))
  })

  test('is not created in a PostgreSQL store if the start has no terminal, and the banner says so', async (t) => {
    const env = { PLANTSTORE_STORE: await newDatabase(t), PLANTSTORE_LOG_LEVEL: 'error' }
    const program = new Program(t, ['serve', '--port', '0'], { cwd: tempFolder(t), env })
    const banner = await program.says((stdout) => (/curl .*\r?\n/.test(stdout) ? stdout : undefined))
    assert.match(banner, /^ {2}Token {4}none yet; create one with "plantstore token create"$/m)
    assert.match((await run(t, ['token', 'list'], { env })).stdout, /^ID.*\n$/)
  })
})
