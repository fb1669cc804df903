import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mustBePrivate } from '../src/base/files.ts'
import { tempFolder } from './support/files.ts'
import { isRoot } from './support/not-tested.ts'
import { run } from './support/process.ts'

test('the service refuses a private key for PostgreSQL that others can read, as libpq does', async (t) => {
  const folder = tempFolder(t)
  const key = join(folder, 'client.key')
  writeFileSync(key, 'a key')
  const says = /^OperatorError: the key .*client\.key is accessible to other users; its mode must be 0600/
  const modes = (good: readonly number[], bad: readonly number[]) => {
    for (const mode of good) {
      chmodSync(key, mode)
      assert.doesNotThrow(() => mustBePrivate(key), mode.toString(8))
    }
    for (const mode of bad) {
      chmodSync(key, mode)
      assert.throws(() => mustBePrivate(key), says, mode.toString(8))
    }
  }
  modes([0o600, 0o400], [0o604, 0o660, 0o644, 0o601])
  if (isRoot) {
    modes([0o640, 0o440], [0o660, 0o650, 0o644])
    chownSync(key, 65_534, 65_534)
    modes([0o600], [0o640])
  }
  mkdirSync(join(folder, 'folder'))
  assert.throws(() => mustBePrivate(join(folder, 'folder')), /is not a file/)
  assert.doesNotThrow(() => mustBePrivate(join(folder, 'none')), 'a missing file is reported when it is read')

  chmodSync(key, 0o644)
  writeFileSync(join(folder, 'client.crt'), 'a certificate')
  const files = `sslcert=${encodeURIComponent(join(folder, 'client.crt'))}&sslkey=${encodeURIComponent(key)}`
  const store = `postgres://nobody@127.0.0.1:1/plants?sslmode=require&${files}`
  const { code, stderr } = await run(t, ['token', 'list', '--store', store])
  assert.match(stderr, /^plantstore: store postgres:.*: the key .* is accessible to other users; /)
  assert.equal(code, 1)
})
