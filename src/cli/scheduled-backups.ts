import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { isSea } from 'node:sea'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { BackupReport, BackupsMade } from '../upkeep.ts'
import { BackupFolder } from './backup-folder.ts'

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
  #newest: number | undefined
  #child: ChildProcess | undefined
  #running: Promise<void> | undefined

  constructor(options: ScheduledOptions) {
    this.#options = options
    options.folder.removeUnfinished()
    this.#newest = options.folder.newest()
  }

  get newest(): number {
    return (this.#newest ?? 0) / 1000
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
    let due = this.#due(Date.now())
    while (!this.#stopping.signal.aborted) {
      const now = Date.now()
      if (now >= due) {
        const isMade = await this.#backUp(now)
        due = isMade ? this.#due(Date.now()) : Date.now() + Math.min(every, RETRY)
      } else {
        await this.#sleep(Math.min(due - now, MAX_SLEEP))
      }
    }
  }

  #due(now: number): number {
    // After the clock was set back, the newest backup lies in the future, and must not delay the next one.
    return this.#newest === undefined ? now : Math.min(this.#newest, now) + this.#options.every
  }

  async #sleep(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { ref: false, signal: this.#stopping.signal }).catch(() => {})
  }

  /** Makes a backup, or logs the failure. @returns whether it made the backup */
  async #backUp(now: number): Promise<boolean> {
    const { storePath, folder, keep, log } = this.#options
    const startedAt = performance.now()
    const file = folder.fileAt(now)
    try {
      const said = await this.#command(['backup', file, '--store', `sqlite:${resolve(storePath)}`, '--json', '--quiet'])
      if (said === undefined) return false
      const ms = Math.round(performance.now() - startedAt)
      this.#newest = now
      log.info({ ...(JSON.parse(said) as BackupReport), ms }, 'backed the store up')
      folder.keepNewest(keep)
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
      const exit = once(child, 'exit')
      const said = Promise.all([text(child.stdout), text(child.stderr)])
      const [code] = await exit
      const [stdout, stderr] = await said
      if (this.#stopping.signal.aborted) return undefined
      if (code !== 0) throw new Error(stderr.trim() || `the process of the backup ended with exit code ${code}`)
      return stdout
    } finally {
      this.#child = undefined
    }
  }
}

/**
 * Returns the backups that the settings ask for; undefined when they ask for none.
 *
 * @throws OperatorError when the folder is missing, or this process can't write to it
 */
export function scheduledBackups(config: Config, log: Logger): ScheduledBackups | undefined {
  const { store, backupEvery: every, backupKeep: keep, backupFolder } = config
  if (every === undefined || backupFolder === undefined || store.engine !== 'sqlite') return undefined
  const folder = new BackupFolder(backupFolder, store.path)
  return new ScheduledBackups({ storePath: store.path, folder, every, keep, log })
}
