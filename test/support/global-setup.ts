// Runs before the first and after the last test file: one folder for all files of the tests, one seed for their
// properties, one PostgreSQL and one browser.
import { randomInt } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeBundles } from '../../scripts/bundles.ts'
import { BROWSER_VARIABLE, hasBrowser, SHARED_VARIABLE, shareBrowser } from './browser.ts'
import { SERVER_VARIABLE } from './postgres.ts'
import { hasPostgres } from './postgres-binaries.ts'
import { PostgresServer } from './postgres-server.ts'
import { TIMES_VARIABLE } from './processor-time.ts'
import { SEED_VARIABLE } from './property.ts'
import { SHORTFALLS_VARIABLE } from './shortfalls.ts'

const ends: (() => Promise<void> | void)[] = []
let folder: string | undefined

export async function globalSetup(): Promise<void> {
  const seed = process.env[SEED_VARIABLE] ?? String(randomInt(2 ** 31))
  process.env[SEED_VARIABLE] = seed
  console.log(`The seed of the properties is ${seed}; ${SEED_VARIABLE}=${seed} tries the same values again.`)
  await makeBundles()
  folder = mkdtempSync(join(parent(), 'plantstore-tests-'))
  // PostgreSQL runs as another user when the tests run as root.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = folder
  process.env[TIMES_VARIABLE] = join(folder, 'times')
  process.env[SHORTFALLS_VARIABLE] = join(folder, 'shortfalls')
  process.env[BROWSER_VARIABLE] = join(folder, 'browser')
  // Without this cache, hundreds of processes and threads strip the types of the same files: a third of a small test.
  process.env['NODE_COMPILE_CACHE'] ??= join(folder, 'compiled')
  if (hasBrowser) process.env[SHARED_VARIABLE] = await shareBrowser({ after: (end) => ends.push(end) })
  // Without a PostgreSQL, only the tests that need one fail.
  if (!hasPostgres()) return
  const template = await PostgresServer.makeTemplate()
  ends.push(() => template.close())
  if ((process.env[SERVER_VARIABLE] ?? '') !== '') return
  const server = await PostgresServer.create()
  ends.push(() => server.close())
  process.env[SERVER_VARIABLE] = server.url()
}

export async function globalTeardown(): Promise<void> {
  for (const end of ends.toReversed()) await end()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}

/** The file system in memory of Linux. */
const MEMORY = '/dev/shm'
/** Free bytes that the files of a whole run never reach. */
const ENOUGH = 8 * 2 ** 30

/**
 * The folder for the files of the tests: in memory where there is room, because an fsync of a disk waits 7 ms and takes
 * 0.4 ms of processor time. The tests of power cuts and faults see each fsync themselves. TMPDIR names another folder.
 */
function parent(): string {
  if (process.env['TMPDIR'] !== undefined || !existsSync('/proc/mounts')) return tmpdir()
  const mount = readFileSync('/proc/mounts', 'utf8').match(/^\S+ \/dev\/shm tmpfs (\S+)/m)
  // The tests run programs from this folder.
  if (mount === null || mount[1]?.split(',').includes('noexec')) return tmpdir()
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= ENOUGH ? MEMORY : tmpdir()
}
