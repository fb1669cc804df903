// A script for test/hard/leaks.test.ts, under a low limit of descriptors. It starts a service, takes all free
// descriptors, and prints the answers of readiness and of a search, without descriptors and with descriptors again. On
// PostgreSQL it prints in between how concurrent searches and creates end, and the answers without open connections.
import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { TESTER } from './actor.ts'
import { createPlant } from './create-plant.ts'
import { engine } from './engine-under-test.ts'
import { withService } from './service.ts'

/** Milliseconds after which the service no longer reuses a check of readiness. */
const FRESH = 1100
const [, , warmth, kind] = process.argv
if (kind === 'postgres') engine.current = 'postgres'

const closers: (() => Promise<void> | void)[] = []
// Both requests wait so long for a connection that no descriptor is left for.
// The log of changes opens the reader of searches at the start.
const settings = { storeTimeout: '3s', ...(kind === 'sqlite' ? { changesKeep: '0s' } : {}) }
const service = await withService({ after: (close) => closers.push(close) }, settings)
// Opens the connection for all requests below, and a reader in a warm service.
await service.send('GET', warmth === 'warm' ? '/health/ready' : '/health/live')
const admin = kind === 'postgres' ? new Client({ connectionString: service.under.address }) : undefined
await admin?.connect()
await sleep(FRESH)
const taken: number[] = []
takeAll()
console.log(await state())
if (admin !== undefined) {
  console.log(await manyAtOnce())
  await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`)
  // At once when the connections are closed: the work of the service in the background opens others.
  for (const until = performance.now() + FRESH; performance.now() < until; await sleep(5)) takeAll()
  console.log(await state())
  await admin.end()
}
for (const fd of taken) closeSync(fd)
await sleep(FRESH)
console.log(await state())
for (const close of closers.reverse()) await close()

function takeAll(): void {
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch {
    // No descriptor is left.
  }
}

async function state(): Promise<string> {
  const ready = await service.send('GET', '/health/ready')
  const search = await service.send('GET', '/plants?q=x')
  return `${ready.status} ${search.status} ${ready.body}`
}

async function manyAtOnce(): Promise<string> {
  const { store } = service
  const all = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => [
      store.listPlants({ tags: [], words: ['x'], order: 'name', after: undefined }, 10),
      createPlant(store, { id: BigInt(i), name: 'x', tag: undefined }, { mustBeNew: true }),
      store.importPlants([{ id: BigInt(100 + i), name: 'x', tag: undefined }], 'add', TESTER),
    ]).flat(),
  )
  return `${all.filter(({ status }) => status === 'fulfilled').length} of ${all.length} are done`
}
