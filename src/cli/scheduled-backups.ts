import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { isSea } from 'node:sea'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { removeAbandonedDrafts } from '../base/files.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { BackupReport, BackupsMade } from '../domain/upkeep.ts'
import type { Config } from '../settings/config.ts'
import { identityOf } from './open-store.ts'

/**
 * Milliseconds between two checks of the clock: timers stop while the machine sleeps, and an operator may set the
 * clock.
 */
const MAX_SLEEP = 60_000
/** Milliseconds until the retry of a failed backup, unless the interval is shorter. */
const RETRY = 5 * 60_000
/** Milliseconds that a backup has to stop after SIGTERM. */
const KILL_DELAY = 2000

interface ScheduledOptions {
  readonly storePath: string
  readonly folder: BackupFolder
  /** Milliseconds between two backups. */
  readonly every: number
  /** The number of backups to keep. */
  readonly keep: number
  readonly log: Logger
}

/**
 * Backs up the store at an interval. Each backup runs the command `plantstore backup` as a separate process: it has a
 * lower priority, takes no memory and no turn of the service's event loop, and can be killed at any moment.
 */
export class ScheduledBackups implements BackupsMade {
  failures = 0
  readonly #options: ScheduledOptions
  readonly #stopping = new AbortController()
  /** When the newest backup was made, by both clocks; undefined when there is none. */
  #newest: { readonly time: number; readonly monotonic: number } | undefined
  #child: ChildProcess | undefined
  #running: Promise<void> | undefined

  constructor(options: ScheduledOptions) {
    this.#options = options
    options.folder.removeUnfinished()
    const now = Date.now()
    const time = options.folder.newest(now)
    if (time !== undefined) this.#newest = { time, monotonic: performance.now() - (now - time) }
  }

  get newest(): number {
    return this.#newest === undefined ? 0 : Math.floor((Date.now() - this.#age()) / 1000)
  }

  /** Starts the schedule. It makes the first backup at once, unless one of an earlier run is new enough. */
  start(): void {
    this.#running = this.#run()
  }

  /** Ends the schedule. It stops a backup under way, and removes its draft. */
  async close(): Promise<void> {
    this.#stopping.abort()
    const child = this.#child
    if (child !== undefined) {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), KILL_DELAY)
      await exit
      clearTimeout(late)
    }
    await this.#running
    this.#options.folder.removeUnfinished()
  }

  async #run(): Promise<void> {
    const { every } = this.#options
    while (!this.#stopping.signal.aborted) {
      const wait = every - this.#age()
      if (wait > 0) await this.#sleep(Math.min(wait, MAX_SLEEP))
      else if (!(await this.#backUp())) await this.#sleep(Math.min(every, RETRY))
    }
  }

  /**
   * The milliseconds since the newest backup, by the clock that has gone further: an operator may set the clock back, and
   * the monotonic clock stops while the machine sleeps.
   */
  #age(): number {
    if (this.#newest === undefined) return Number.POSITIVE_INFINITY
    const { time, monotonic } = this.#newest
    return Math.max(Date.now() - time, performance.now() - monotonic)
  }

  async #sleep(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { ref: false, signal: this.#stopping.signal }).catch(() => {})
  }

  /** Makes a backup, or logs the failure. @returns whether it made the backup */
  async #backUp(): Promise<boolean> {
    const { storePath, folder, keep, log } = this.#options
    const made = { time: Date.now(), monotonic: performance.now() }
    const file = folder.fileAt(made.time)
    try {
      const said = await this.#command(['backup', file, '--store', `sqlite:${resolve(storePath)}`, '--json', '--quiet'])
      if (said === undefined) return false
      const ms = Math.round(performance.now() - made.monotonic)
      this.#newest = made
      log.info({ ...(JSON.parse(said) as BackupReport), ms }, 'backed the store up')
      folder.keepNewest(keep, file, Date.now())
      return true
    } catch (error) {
      this.failures++
      log.error({ err: error, file }, 'a scheduled backup failed')
      return false
    }
  }

  /**
   * Runs a command of this program in a new process.
   *
   * @returns its standard output; undefined when `close` stopped it
   * @throws Error with its message when it failed
   */
  async #command(args: readonly string[]): Promise<string | undefined> {
    const script = process.argv[1]
    const start = isSea() || script === undefined ? args : [script, ...args]
    const child = spawn(process.execPath, start, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    try {
      // Rejects where the process can't start. It then has no streams.
      await once(child, 'spawn')
      const [[code], stdout, stderr] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)])
      if (this.#stopping.signal.aborted) return undefined
      if (code !== 0) throw new Error(stderr.trim() || `the process of the backup ended with exit code ${code}`)
      return stdout
    } finally {
      this.#child = undefined
    }
  }
}

/**
 * Returns the folder for the backups that the settings ask for; undefined when they ask for none. Call it before the
 * store opens: a start without the folder must not create a store.
 *
 * @throws OperatorError when the folder is missing, or this process can't write to it
 */
export function wantedBackupFolder({ store, backupEvery, backupFolder }: Config): string | undefined {
  if (backupEvery === undefined || backupFolder === undefined || store.engine !== 'sqlite') return undefined
  mustBeBackupFolder(backupFolder)
  return backupFolder
}

/** Returns the scheduled backups of an open store. @param path of `wantedBackupFolder` */
export async function scheduledBackups(
  { store, backupEvery: every, backupKeep: keep }: Config,
  path: string | undefined,
  log: Logger,
): Promise<ScheduledBackups | undefined> {
  if (path === undefined || every === undefined || store.engine !== 'sqlite') return undefined
  const folder = await BackupFolder.open(path, store.path, identityOf)
  return new ScheduledBackups({ storePath: store.path, folder, every, keep, log })
}

interface Backup {
  readonly name: string
  /** Milliseconds since 1970, by the clock of the service that made it. */
  readonly time: number
}

/** @throws OperatorError when the folder is missing, or this process can't write to it */
function mustBeBackupFolder(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) throw refusal(path, 'it does not exist; create it first')
  if (!stat.isDirectory()) throw refusal(path, 'it is not a folder')
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    throw refusal(path, "it can't be written")
  }
}

/**
 * Manages the backups of one store in a folder, which other stores may share. Their names have the store's identity,
 * such as `plants-3f9a1c2e-20261122T021500Z.db`. It never touches another file.
 */
export class BackupFolder {
  readonly #path: string
  readonly #identity: string
  readonly #base: string
  /** Backups of this store with the names of earlier versions, such as `plants-20261122T021500Z.db`. */
  readonly #earlier: ReadonlySet<string>

  /**
   * Opens the folder for the store in the file `storePath`.
   *
   * @param identityOf reads the identity of the store in a file; undefined for a file without one
   */
  static async open(
    path: string,
    storePath: string,
    identityOf: (file: string) => Promise<string | undefined>,
  ): Promise<BackupFolder> {
    const identity = await identityOf(storePath)
    if (identity === undefined) throw new OperatorError(`store ${storePath}: it has no identity`)
    const base = `${basename(storePath).replace(/\.[^.]+$/, '')}-`
    const earlier = new Set<string>()
    for (const name of readdirSync(path)) {
      if (timeIn(name, base) !== undefined && (await identityOf(join(path, name))) === identity) earlier.add(name)
    }
    return new BackupFolder(path, identity, base, earlier)
  }

  private constructor(path: string, identity: string, base: string, earlier: ReadonlySet<string>) {
    this.#path = path
    this.#identity = identity
    this.#base = base
    this.#earlier = earlier
  }

  /** Returns the path of a backup. @param time milliseconds since 1970 */
  fileAt(time: number): string {
    const stamp = new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '')
    return join(this.#path, `${this.#base}${this.#identity}-${stamp}.db`)
  }

  /** Returns the time of the newest backup in milliseconds since 1970; undefined when there is none up to `now`. */
  newest(now: number): number | undefined {
    return this.#backups(now).findLast(({ time }) => time <= now)?.time
  }

  /** Removes the oldest backups, so that `count` of them remain. It never removes `made`, whatever its stamp. */
  keepNewest(count: number, made: string, now: number): void {
    const others = this.#backups(now).filter(({ name }) => name !== basename(made))
    for (const { name } of others.slice(0, Math.max(0, others.length + 1 - count))) {
      rmSync(join(this.#path, name), { force: true })
    }
  }

  /** Removes the drafts that a backup has left, such as after a power cut. */
  removeUnfinished(): void {
    removeAbandonedDrafts(this.#path)
  }

  /**
   * Returns the backups, oldest first. A stamp after `now` is of a clock that was wrong, and says nothing about the
   * age of the backup, so such backups come first.
   */
  #backups(now: number): Backup[] {
    return readdirSync(this.#path)
      .flatMap((name) => {
        const time = this.#timeIn(name)
        return time === undefined ? [] : [{ name, time }]
      })
      .sort((one, other) => Number(one.time <= now) - Number(other.time <= now) || one.time - other.time)
  }

  #timeIn(name: string): number | undefined {
    return timeIn(name, this.#earlier.has(name) ? this.#base : `${this.#base}${this.#identity}-`)
  }
}

const STAMP = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z\.db$/

/** Returns the time in the name of a backup that begins with `start`; undefined for another name. */
function timeIn(name: string, start: string): number | undefined {
  const stamp = name.slice(start.length)
  if (!name.startsWith(start) || !STAMP.test(stamp)) return undefined
  const time = Date.parse(stamp.replace(STAMP, '$1-$2-$3T$4:$5:$6Z'))
  return Number.isNaN(time) ? undefined : time
}

const refusal = (path: string, why: string): OperatorError => new OperatorError(`backup folder ${path}: ${why}`)
