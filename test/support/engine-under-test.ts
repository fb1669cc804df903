import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after } from 'node:test'
import { openStore } from '../../src/cli/open-store.ts'
import type { ServedStore } from '../../src/http/metrics/service-metrics.ts'
import { type Config, readConfig } from '../../src/settings/config.ts'
import { createDatabase, emptyDatabase, lockPlants, plantsOf, query } from './postgres.ts'

export interface StoredRow {
  readonly id: bigint
  readonly name: string
  readonly tag: string | null
}

/** A new store of one engine, with methods that reach the store without the service. */
export interface EngineUnderTest {
  readonly store: ServedStore
  /** The value for `--store`. */
  readonly address: string
  /** The file or database of the store, which no answer may name. */
  readonly place: string
  /** The plants in the store, by id. */
  plants(): Promise<StoredRow[]>
  /** Whether the stored bytes contain a text. */
  holds(text: string): Promise<boolean>
  /** Locks the store against all other writers. Resolves with a function that unlocks the store. */
  lock(): Promise<() => Promise<void>>
  /** Whether a reader holds a snapshot of the store. */
  keepsMoment(): Promise<boolean>
  /** The number of files or sessions that are open for readers. */
  opened(): Promise<number>
  /** Adds a rule `a-rule-of-its-own` to the schema, which refuses plants with this name. */
  refuseName(name: string): Promise<void>
  /** Puts the store out of reach for good. */
  takeAway(): Promise<void>
  /** Closes the store and removes its files. */
  remove(): Promise<void>
}

/** The engine of the tests of the service in this process; SQLite by default. */
export const engine = { current: 'sqlite' as 'sqlite' | 'postgres' }

/** @param filled the address of a closed store, of which this one is a copy */
export const openEngine = (config: Config, filled?: string): Promise<EngineUnderTest> =>
  engine.current === 'sqlite' ? openSqlite(config, filled) : openPostgres(config, filled)

/** Milliseconds that a connection of the tests waits for the service's writer. */
const BUSY_TIMEOUT = 20_000

async function openSqlite(config: Config, filled?: string): Promise<EngineUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-'))
  if (filled !== undefined) cpSync(dirname(filled.replace('sqlite:', '')), folder, { recursive: true })
  const path = join(folder, 'plants.db')
  const store = await open(`sqlite:${path}`, config)
  return {
    store,
    address: `sqlite:${path}`,
    place: folder,
    async plants() {
      const db = new DatabaseSync(path, { readOnly: true, readBigInts: true, timeout: BUSY_TIMEOUT })
      try {
        const rows = db.prepare('SELECT id, name, tag FROM plants ORDER BY id').all()
        return rows.map(({ id, name, tag }) => ({ id: id as bigint, name: name as string, tag: tag as string | null }))
      } finally {
        db.close()
      }
    },
    holds: async (text) => filesWith(folder, text) > 0,
    async lock() {
      const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT })
      db.exec('BEGIN IMMEDIATE')
      return async () => db.close()
    },
    async keepsMoment() {
      const db = new DatabaseSync(path)
      try {
        return db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] !== 0
      } finally {
        db.close()
      }
    },
    opened: async () => readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith(folder)).length,
    async refuseName(name) {
      const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT })
      db.exec(`CREATE TRIGGER refusal BEFORE INSERT ON plants WHEN new.name = '${name}'
        BEGIN SELECT RAISE(ABORT, 'a-rule-of-its-own'); END`)
      db.close()
    },
    takeAway: async () => renameSync(path, `${path}.away`),
    async remove() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Empty databases of this process, which the next test uses instead of creating one. */
const free: string[] = []
const drops: (() => Promise<void>)[] = []
after(async () => {
  for (const drop of drops) await drop()
})

/** Runs work at the end of the process, before its databases are dropped. */
export const beforeDrops = (work: () => Promise<void>): void => void drops.unshift(work)

async function openPostgres(config: Config, filled?: string): Promise<EngineUnderTest> {
  const fresh = (options?: string) => createDatabase((drop) => drops.push(drop), options)
  const url = filled === undefined ? (free.pop() ?? (await fresh())) : await fresh(copyOf(filled))
  /** Whether the test has changed the database so that no other test can use it. */
  let isSpoilt = false
  const name = new URL(url).pathname.slice(1)
  const sessions = `SELECT FROM pg_stat_activity WHERE datname = '${name}' AND xact_start IS NOT NULL
    AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
  const opened = async () => (await query(url, sessions)).length
  const store = await open(url, config)
  return {
    store,
    address: url,
    place: name,
    plants: async () => (await plantsOf(url)).map((plant) => ({ ...plant, tag: plant.tag ?? null })),
    async holds(text) {
      const rows = await query(url, 'SELECT plants::text FROM plants UNION ALL SELECT tokens::text FROM tokens')
      return JSON.stringify(rows).includes(text)
    },
    lock: () => lockPlants(url),
    keepsMoment: async () => (await opened()) > 0,
    opened,
    async refuseName(name) {
      isSpoilt = true
      await query(url, `ALTER TABLE plants ADD CONSTRAINT "a-rule-of-its-own" CHECK (name <> '${name}')`)
    },
    async takeAway() {
      isSpoilt = true
      const server = new URL(url)
      server.pathname = 'postgres'
      await query(server.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      await query(server.href, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
    },
    async remove() {
      await store.close()
      if (isSpoilt) return
      await emptyDatabase(url)
      free.push(url)
    },
  }
}

const copyOf = (address: string): string => `TEMPLATE ${new URL(address).pathname.slice(1)} STRATEGY file_copy`

function open(address: string, config: Config): Promise<ServedStore> {
  return openStore(readConfig({ store: address }, {}).store, {
    serving: true,
    create: true,
    maxWaiting: config.maxWaiting,
    connections: config.storeConnections,
    timeout: config.storeTimeout,
    retryTime: 0,
    changesKeep: config.changesKeep,
    changesKeepSize: config.changesKeepSize,
    onFatal: () => {},
    onMade: () => {},
    onNotice: () => {},
  })
}

/**
 * Counts the files of a folder that contain the text. Another process reads them: a process that closes a file of its
 * own open store drops SQLite's locks (https://sqlite.org/howtocorrupt.html section 2.2).
 */
function filesWith(folder: string, text: string): number {
  const script = `
    const { readdirSync, readFileSync } = require('node:fs')
    const [folder, text] = process.argv.slice(1)
    const files = readdirSync(folder).map((name) => readFileSync(folder + '/' + name))
    console.log(files.filter((bytes) => bytes.includes(text)).length)`
  return Number(execFileSync(process.execPath, ['-e', script, folder, text], { encoding: 'utf8' }))
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}
