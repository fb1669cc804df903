// An instance of a store in a process of its own, which writes plants that others write too, and reads the log of changes.
// Arguments: the address, a number for the names of its plants. It prints a line of JSON for each entry, and at its end
// (a line on standard input) waits until its reader has read everything.
import { once } from 'node:events'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import { PostgresStore } from '../../src/postgres/store.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { TESTER } from './actor.ts'
import { FIRST, logOf } from './change-entries.ts'
import { deletePlant, replacePlant } from './change-plant.ts'
import { plant } from './store-under-test.ts'

const [address = '', name = ''] = process.argv.slice(2)
const store = await PostgresStore.open(readPostgresAddress(address, {}), {
  maxWaiting: 10_000,
  connections: 32,
  timeout: 60_000,
  retryTime: 0,
  create: false,
  onNotice: () => {},
})
let isOver = false
void once(process.stdin, 'data').then(() => {
  isOver = true
})

async function read(): Promise<void> {
  for (let after: string | undefined; ; ) {
    const wasOver = isOver && written
    const { entries, next, isEnd } = await logOf(store).read({ ...FIRST, after })
    for (const { position } of entries) process.stdout.write(`${position}\n`)
    after = next
    if (isEnd && wasOver) return
  }
}

async function write(seed: number): Promise<void> {
  for (let i = 0; !isOver; i++) {
    const id = BigInt((i * 31 + seed * 17) % 60)
    const one = plant(id, `${name} ${seed} ${i}`)
    if (seed < 4) await store.importPlants([one, plant(id + 1n, one.name), plant(id, `${one.name}!`)], 'update', TESTER)
    else if (i % 5 === 0) await deletePlant(store, id, NO_EXPECTATION, TESTER).catch(() => {})
    else if (i % 5 === 1) await store.createPlant(one, { mustBeNew: false }, TESTER).catch(() => {})
    else await replacePlant(store, one, NO_EXPECTATION, TESTER)
  }
}

let written = false
const reading = read()
await Promise.all(Array.from({ length: 32 }, (_, seed) => write(seed)))
written = true
await reading
await store.close()
process.exit()
