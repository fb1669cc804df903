import { rmSync } from 'node:fs'
import { AppError } from '../../src/domain/errors.ts'
import type { Store } from '../../src/domain/store.ts'
import { readConfig } from '../../src/settings/config.ts'
import { TESTER } from './actor.ts'
import type { Scene } from './clean-up.ts'
import { engine, openEngine } from './engine-under-test.ts'
import { fullPlants } from './full-plants.ts'
import { chunk, importHead, NDJSON, rowsFrom } from './import.ts'
import { RawConnection } from './raw.ts'
import { boundIn } from './scrape.ts'
import { SECRET, type Service, withService } from './service.ts'
import { until } from './until.ts'
import { wholeFile } from './whole-file.ts'

/** Plants of a service of withMuch, with the ids from 0 on. */
export const MUCH = 12_000

/** A service with so many plants that an export exceeds the buffers of its connection. */
export async function withMuch(scene: Scene, flags: Parameters<typeof withService>[1] = {}): Promise<Service> {
  filled ??= fill()
  return withService(scene, flags, await filled)
}

/** The closed store of which the services of withMuch have copies: filling one takes a second of processor time. */
let filled: Promise<string> | undefined

async function fill(): Promise<string> {
  const { store, address, place } = await openEngine(readConfig({}, {}))
  for (let from = 0; from < MUCH; from += 1000) {
    await store.importPlants(fullPlants(1000, { from }), 'add', TESTER)
  }
  await until(() => isIndexed(store), 'the search index is not complete')
  await store.close()
  // A database is dropped at the end of the process.
  if (engine.current === 'sqlite') wholeFile.after(() => rmSync(place, { recursive: true, force: true }))
  return address
}

/** A store refuses a list by name for which its index has lagged behind for too long. */
async function isIndexed(store: Store): Promise<boolean> {
  try {
    await store.listPlants({ tags: [], words: [], order: 'name', after: undefined }, 1)
    return true
  } catch (error) {
    if (error instanceof AppError && error.number === 50301) return false
    throw error
  }
}

export const exportHead = (...fields: string[]): string =>
  ['GET /plants/export HTTP/1.1', 'Host: a', `Authorization: Bearer ${SECRET}`, ...fields, '', ''].join('\r\n')

/** Begins an export whose client reads nothing. */
export function unreadExport({ port }: Service, secret = SECRET): RawConnection {
  const connection = new RawConnection(port, exportHead('Connection: close').replace(SECRET, secret))
  connection.socket.pause()
  return connection
}

/** Begins an import with one row, and does not end it. */
export const openImport = ({ port }: Service, secret: string, path = '/plants/import'): RawConnection => {
  const connection = new RawConnection(port)
  const head = importHead(NDJSON).replace(SECRET, secret).replace('/plants/import', path)
  connection.write(head + chunk(rowsFrom(1, 1)))
  return connection
}

/** The bounds of the kinds of long work. */
const BOUNDS = {
  search: 'max-searches',
  export: 'max-exports',
  stream: 'max-streams',
  import: 'max-imports',
  dryRun: 'max-dry-runs',
  change: 'changes',
} as const

type Work = keyof typeof BOUNDS

/** Waits until this many pieces of work of a kind run. */
export async function untilRunning(service: Service, work: Work, count: number): Promise<void> {
  const running = () => boundOf(service, BOUNDS[work])
  await until(async () => (await running()) === count, `${count} of the kind ${work} do not run`)
}

/** Reads the metrics of a bound. */
export async function boundOf(service: Service, ...which: [string, ('used' | 'refused_total')?]): Promise<number> {
  return boundIn((await service.send('GET', '/metrics')).body, ...which)
}

/** Waits until no work of the kind runs or waits. */
export async function untilIdle(service: Service, work: Work): Promise<void> {
  const open = async () => {
    const waiting = work === 'search' ? await boundOf(service, 'search-queue') : 0
    return waiting + (await boundOf(service, BOUNDS[work]))
  }
  await until(async () => (await open()) === 0, `work of the kind ${work} goes on`)
}

/** Waits until nothing holds the store of the service at a moment of the past. */
export const untilMomentEnds = ({ under }: Service): Promise<void> =>
  until(async () => !(await under.keepsMoment()), 'the store is still held at a moment of the past')
