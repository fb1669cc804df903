import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Load, ready, send } from '../../support/load.ts'
import { notTestedHere } from '../../support/not-tested.ts'
import { plantsOf, query } from '../../support/postgres.ts'
import { serverUser } from '../../support/postgres-binaries.ts'
import { assertKept, assertOutOfReach, ownServer, refusals } from '../../support/postgres-faults.ts'
import { serveStore } from '../../support/process.ts'
import { fillDisk, NO_DISK, smallDisk } from '../../support/small-disk.ts'

test('while the disk of the database is full, the service refuses writes with that reason', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a PostgreSQL store on a disk that fills up, ${NO_DISK}`)
  const server = await ownServer(t)
  const folder = join(disk, 'tables')
  mkdirSync(folder)
  chmodSync(dirname(disk), 0o755)
  const user = serverUser()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  await query(server.url(), `CREATE TABLESPACE small LOCATION '${folder}'`)
  await query(server.url(), 'CREATE DATABASE plants TABLESPACE small')
  const url = server.url('plants')
  const served = await serveStore(t, url)
  const load = new Load(served.address, { clients: 8, nameLength: 1000 })
  await load.reaches(100)
  fillDisk(disk)
  await load.until(() => (load.refused.get(50304) ?? 0) > 20)
  rmSync(join(disk, 'ballast'))
  await load.reaches(load.acknowledged.size + 100)
  await assertKept(load, served, url, 50304)
})

test('a database that restarts with fsync off counts as out of reach until fsync is on', async (t) => {
  const server = await ownServer(t)
  const served = await serveStore(t, server.url())
  const load = new Load(served.address)
  await load.reaches(200)
  await server.stop()
  await server.start(['fsync=off'])
  await ready(served.address, 503)
  await assertOutOfReach(served.address)
  const { length } = await plantsOf(server.url())
  const before = refusals(load)
  await load.until(() => refusals(load) > before + 20)
  assert.equal((await plantsOf(server.url())).length, length, 'nothing was written meanwhile')
  await server.stop()
  await server.start()
  await load.reaches(load.acknowledged.size + 200)
  await assertKept(load, served, server.url())
})

test('a read-only database counts as out of reach until it accepts writes', async (t) => {
  const server = await ownServer(t)
  const url = server.url()
  const served = await serveStore(t, url)
  const load = new Load(served.address)
  await load.reaches(200)
  const setReadOnly = async (value: 'on' | 'off') => {
    await query(url, `ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await query(url, 'SELECT pg_reload_conf()')
  }
  await setReadOnly('on')
  await load.until(() => refusals(load) > 20)
  await ready(served.address, 503)
  for (const path of ['/plants/0', '/plants', '/tags', '/plants?q=plant']) {
    assert.equal((await send('GET', `${served.address}${path}`)).error, 50301, `${path} could be old on a standby`)
  }
  await setReadOnly('off')
  await load.reaches(load.acknowledged.size + 200)
  await ready(served.address, 200)
  await assertKept(load, served, url)
})
