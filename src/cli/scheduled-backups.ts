import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { isSea } from 'node:sea'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { BackupReport, BackupsMade } from '../domain/upkeep.ts'
import type { Config } from '../settings/config.ts'
import { BackupFolder, mustBeBackupFolder } from './backup-folder.ts'
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

export interface ScheduledOptions {
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
