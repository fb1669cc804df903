import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from '../support/files.ts'
import { notTestedHere, runs } from '../support/not-tested.ts'
import { openStore } from '../support/open-postgres.ts'
import { query } from '../support/postgres.ts'
import { serverUser } from '../support/postgres-binaries.ts'
import { ownServer } from '../support/postgres-faults.ts'

test('the service connects over TLS only to a server with the right certificate', async (t) => {
  if (!runs('openssl', 'version')) return notTestedHere(t, 'TLS to PostgreSQL, because there is no openssl')
  const folder = tempFolder(t)
  const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.crt')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  execFileSync('openssl', [...request, ...subject], { stdio: 'pipe' })
  chmodSync(folder, 0o755)
  chmodSync(key, 0o600)
  const user = serverUser()
  if (user !== undefined) for (const file of [key, certificate]) chownSync(file, user.uid, user.gid)
  const server = await ownServer(t)
  await server.stop()
  await server.start(['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`])
  const address = (host: string, search: string) => `${server.url().replace('127.0.0.1', host)}?${search}`
  const trusted = `sslrootcert=${encodeURIComponent(certificate)}`

  for (const [host, search] of [
    ['127.0.0.1', 'sslmode=require'],
    ['127.0.0.1', `sslmode=verify-ca&${trusted}`],
    ['localhost', `sslmode=verify-full&${trusted}`],
  ] as const) {
    const store = await openStore(t, address(host, search))
    const sessions = await query<{ ssl: boolean }>(
      server.url(),
      `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'plantstore'`,
    )
    assert.ok(sessions.length > 0 && sessions.every(({ ssl }) => ssl), search)
    await store.close()
  }
  for (const [host, search, why] of [
    ['127.0.0.1', `sslmode=verify-full&${trusted}`, /certificate's altnames/],
    ['localhost', 'sslmode=verify-full', /self-signed certificate/],
  ] as const) {
    const told: string[] = []
    const options = { retryTime: 60_000, onNotice: (text: string) => told.push(text) }
    await assert.rejects(openStore(t, address(host, search), options), why)
    assert.deepEqual(told, [], 'nobody waits for another certificate')
  }
})
