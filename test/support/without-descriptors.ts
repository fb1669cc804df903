// Runs as a process of its own under a low limit of descriptors: opens a store, takes all descriptors that are left, and
// says in lines what it can still do.
import { closeSync, openSync } from 'node:fs'
import { SqliteStore } from '../../src/sqlite/store.ts'

const [path = '', warmth = ''] = process.argv.slice(2)
const store = await SqliteStore.open(path, { serving: true, create: true, maxWaiting: 10, onFatal: () => {} })
if (warmth === 'warm') await store.checkSearchable()
const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  console.log(await state())
}
for (const fd of taken) closeSync(fd)
console.log(await state())
await store.close()

async function state(): Promise<string> {
  const query = { tags: [], words: ['x'], order: 'id', after: undefined } as const
  const [ready, search] = await Promise.allSettled([store.checkSearchable(), store.listPlants(query, 1)])
  return `${ready.status} ${search.status} ${ready.status === 'rejected' ? ready.reason.message : ''}`.trim()
}
