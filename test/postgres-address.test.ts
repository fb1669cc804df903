import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { inspect } from 'node:util'
import { mustBePrivate } from '../src/base/files.ts'
import { readPostgresAddress } from '../src/settings/postgres-address.ts'
import { tempFolder } from './support/files.ts'
import { isRoot } from './support/not-tested.ts'
import { run } from './support/process.ts'

/** Reads an address, and shows its password. */
function read(text: string, environment: NodeJS.ProcessEnv = {}) {
  const { password, ...rest } = readPostgresAddress(text, environment)
  return { ...rest, password: password() }
}

suite('the address of a PostgreSQL database', () => {
  test('is parsed with all of its parts', () => {
    assert.deepEqual(
      read('postgres://me:pass@db.example:6432/plants?application_name=kew&connect_timeout=9&options=-c%20a%3Db'),
      {
        engine: 'postgres',
        isDistributed: false,
        hosts: [{ host: 'db.example', port: 6432 }],
        database: 'plants',
        user: 'me',
        password: 'pass',
        tls: undefined,
        applicationName: 'kew',
        options: '-c a=b',
        connectTimeout: 9000,
        shown: 'postgres://db.example:6432/plants',
      },
    )
  })

  test('begins with citus:// for a store that Citus distributes', () => {
    const { isDistributed, database, shown } = read('citus://me:pass@db.example:6432/plants')
    assert.deepEqual([isDistributed, database, shown], [true, 'plants', 'citus://db.example:6432/plants'])
  })

  test('may omit almost every part', () => {
    const { hosts, database, user, password, connectTimeout } = read('postgresql://')
    const me = userInfo().username
    assert.deepEqual([hosts, database, user, password], [[{ host: 'localhost', port: 5432 }], me, me, undefined])
    assert.equal(connectTimeout, 5000)
  })

  test('overrides the variables of PostgreSQL clients, which complete it', () => {
    const environment = {
      PGHOST: 'a,b',
      PGPORT: '1,2',
      PGDATABASE: 'c',
      PGUSER: 'd',
      PGPASSWORD: 'e',
      PGAPPNAME: 'f',
      PGOPTIONS: 'g',
      PGCONNECT_TIMEOUT: '3',
      PGSSLMODE: 'require',
    }
    const all = read('postgres://', environment)
    assert.equal(all.shown, 'postgres://a:1,b:2/c')
    assert.deepEqual([all.user, all.password, all.applicationName, all.options], ['d', 'e', 'f', 'g'])
    assert.deepEqual([all.connectTimeout, all.tls?.check], [3000, 'none'])
    const own = read('postgres://x@y:5/z?sslmode=disable&connect_timeout=1', environment)
    assert.deepEqual(
      [own.shown, own.user, own.password, own.tls, own.connectTimeout],
      ['postgres://y:5/z', 'x', 'e', undefined, 1000],
    )
  })

  test('may name several hosts, IPv6 addresses and folders of sockets among them', () => {
    const hostsOf = (text: string) => read(text).hosts.map(({ host, port }) => `${host} ${port}`)
    assert.deepEqual(hostsOf('postgres://a:1,b,[::1]:3/x'), ['a 1', 'b 5432', '::1 3'])
    assert.deepEqual(hostsOf('postgres://a,b/x?port=7'), ['a 7', 'b 7'])
    assert.deepEqual(hostsOf('postgres:///x?host=/run/postgresql'), ['/run/postgresql 5432'])
    assert.deepEqual(hostsOf('postgres://%2Frun%2Fpg:6/x'), ['/run/pg 6'])
  })

  test('may contain any character, percent-encoded', () => {
    const { user, password, database } = read('postgres://a%40b:p%3A%2F%3F%25@h/d%20e')
    assert.deepEqual([user, password, database], ['a@b', 'p:/?%', 'd e'])
  })

  test('decides how certificates are checked', () => {
    const check = (search: string) => read(`postgres://h/d?${search}`).tls?.check
    assert.equal(check('sslmode=disable'), undefined)
    assert.equal(check('sslmode=require'), 'none')
    assert.equal(check('sslmode=require&sslrootcert=ca.pem'), 'authority')
    assert.equal(check('sslmode=verify-ca'), 'authority')
    assert.equal(check('sslmode=verify-full'), 'full')
    assert.equal(check('sslrootcert=system'), 'full')
    assert.equal(read('postgres://h/d?sslmode=verify-full&sslrootcert=system').tls?.authorities, undefined)
    assert.deepEqual(read('postgres://h/d?sslmode=verify-full&sslrootcert=a&sslcert=b&sslkey=c').tls, {
      check: 'full',
      authorities: 'a',
      certificate: 'b',
      key: 'c',
    })
  })

  test('never prints its password', () => {
    const address = readPostgresAddress('postgres://me:geheim@h/d', {})
    for (const printed of [inspect(address), JSON.stringify(address), address.shown]) {
      assert.ok(!printed.includes('geheim'), printed)
    }
  })

  const WRONG: readonly (readonly [string, RegExp])[] = [
    ['postgres:plants', /is not an address like/],
    ['postgres://h:5x/d', /names an invalid host/],
    ['postgres://h:0/d', /has a port that is not a whole number from 1 to 65535/],
    ['postgres://h:65536/d', /has a port/],
    ['postgres://h/d?port=1,2', /a different number of ports than of hosts/],
    ['postgres://h/d?colour=green', /has an unknown parameter; known are host, port, dbname/],
    ['postgres://h/d?sslmode=prefer', /has a sslmode that is none of disable, require, verify-ca, verify-full/],
    ['postgres://h/d?sslmode=require&sslcert=a', /only one of sslcert and sslkey/],
    ['postgres://h/d?sslmode=verify-ca&sslrootcert=system', /has a sslmode that is none of verify-full/],
    ['postgres://h/d?target_session_attrs=standby', /none of read-write, primary/],
    ['postgres://h/d?connect_timeout=0', /has a connect_timeout that is not a whole number from 1/],
    ['postgres://h/%zz', /is not valid percent-encoding/],
  ]
  for (const [text, why] of WRONG) {
    test(`is refused as ${text}, and not shown in the refusal`, () => {
      const secret = text.replace('://', '://me:geheim@')
      assert.throws(() => readPostgresAddress(text, {}), why)
      assert.throws(
        () => readPostgresAddress(secret, {}),
        (error) => error instanceof Error && !error.message.includes('geheim'),
      )
    })
  }
})

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
