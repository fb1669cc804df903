import { type ChildProcess, execFile } from 'node:child_process'
import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { isSea } from 'node:sea'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { removeAbandonedDrafts } from '../base/files.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { BackupReport, BackupsMade } from '../domain/upkeep.ts'
import type { Config } from '../settings/config.ts'
import { BackupHook, mustBeExecutable } from './backup-hook.ts'
import { identityOf } from './open-store.ts'

/**
 * Returns the folder for the backups that the settings ask for; undefined when they ask for none. Call it before the
 * store opens: a start without the folder, or with a hook that can't run, must not create a store.
 */
export function wantedBackupFolder({ store, backupEvery, backupFolder: path, backupHook }: Config): string | undefined {
  if (backupEvery === undefined || path === undefined || store.engine !== 'sqlite') return undefined
  const refusal = (why: string) => new OperatorError(`backup folder ${path}: ${why}`)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) throw refusal('it does not exist; create it first')
  if (!stat.isDirectory()) throw refusal('it is not a folder')
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    throw refusal("it can't be written")
  }
  if (backupHook !== undefined) mustBeExecutable(backupHook)
  return path
}

/** Returns the scheduled backups of an open store. @param path of `wantedBackupFolder` */
export async function scheduledBackups(
  { store, backupEvery: every, backupKeep: keep, backupHook }: Config,
  path: string | undefined,
  { log, environment }: { readonly log: Logger; readonly environment: NodeJS.ProcessEnv },
): Promise<ScheduledBackups | undefined> {
  if (path === undefined || every === undefined || store.engine !== 'sqlite') return undefined
  const folder = await BackupFolder.open(path, store.path)
  const hook = backupHook === undefined ? undefined : new BackupHook({ file: backupHook, environment, log })
  return new ScheduledBackups({ storePath: store.path, folder, every, keep, log, hook })
}

/** Milliseconds between two looks at the clock: timers stop while the machine sleeps, and an operator may set it. */
const MAX_SLEEP = 60_000
/** Milliseconds until the retry of a failed backup, unless the interval is shorter. */
const RETRY = 5 * 60_000

interface ScheduledOptions {
  readonly storePath: string
  readonly folder: BackupFolder
  /** Milliseconds between two backups. */
  readonly every: number
  readonly keep: number
  readonly log: Logger
  readonly hook?: BackupHook | undefined
}

/**
 * Backs up the store at an interval. Each backup runs the command `plantstore backup` as a separate process: it has a
 * lower priority, takes no memory and no turn of the service's event loop, and can be killed at any moment.
 */
export class ScheduledBackups implements BackupsMade {
  failures = 0
  readonly #options: ScheduledOptions
  readonly #stopping = new AbortController()
  /** When the newest backup was made, in milliseconds since 1970; 0 when there is none. */
  #newest: number
  #child: ChildProcess | undefined
  #running: Promise<void> | undefined

  constructor(options: ScheduledOptions) {
    this.#options = options
    removeAbandonedDrafts(options.folder.path)
    this.#newest = options.folder.newest(Date.now())
  }

  get hookFailures(): number | undefined {
    return this.#options.hook?.failures
  }

  get newest(): number {
    return Math.floor(Math.min(this.#newest, Date.now()) / 1000)
  }

  /** Starts the schedule. It makes the first backup at once, unless one of an earlier run is new enough. */
  start(): void {
    this.#running = this.#run()
  }

  /** Ends the schedule. It ends a backup under way, and removes its draft; it ends a hook under way. */
  async close(): Promise<void> {
    this.#stopping.abort()
    this.#child?.kill('SIGKILL')
    this.#options.hook?.close()
    await this.#running
    removeAbandonedDrafts(this.#options.folder.path)
  }

  async #run(): Promise<void> {
    const { every } = this.#options
    const { signal } = this.#stopping
    const pause = (time: number) => sleep(time, undefined, { ref: false, signal }).catch(() => {})
    while (!signal.aborted) {
      const age = Date.now() - this.#newest
      // A negative age is of a clock that was wrong, and says nothing.
      if (age >= 0 && age < every) await pause(Math.min(every - age, MAX_SLEEP))
      else if (!(await this.#backUp())) await pause(Math.min(every, RETRY))
    }
  }

  /** Makes a backup, or logs the failure, and then runs the hook. @returns whether it made the backup */
  async #backUp(): Promise<boolean> {
    const { storePath, folder, keep, log, hook } = this.#options
    const start = Date.now()
    const file = folder.fileAt(start)
    const script = process.argv[1]
    const command = ['backup', file, '--store', `sqlite:${resolve(storePath)}`, '--json', '--quiet']
    try {
      const program = isSea() || script === undefined ? command : [script, ...command]
      const running = promisify(execFile)(process.execPath, program)
      this.#child = running.child
      const report = JSON.parse((await running).stdout) as BackupReport
      this.#newest = start
      log.info({ ...report, ms: Date.now() - start }, 'backed the store up')
      folder.keepNewest(keep, file, Date.now())
    } catch (error) {
      if (this.#stopping.signal.aborted) return false
      this.failures++
      const said = String((error as { stderr?: string }).stderr ?? '').trim()
      const cause = said === '' ? error : new Error(said)
      log.error({ err: cause, file }, 'a scheduled backup failed')
      await hook?.run({ error: cause instanceof Error ? cause.message : String(cause) })
      return false
    }
    await hook?.run({ file })
    return true
  }
}

/**
 * Manages the backups of one store in a folder, which other stores may share. Their names have the store's identity,
 * such as `plants-3f9a1c2e-20261122T021500Z.db`. It never touches another file.
 */
export class BackupFolder {
  readonly path: string
  readonly #start: string

  static async open(path: string, storePath: string): Promise<BackupFolder> {
    const identity = await identityOf(storePath)
    if (identity === undefined) throw new OperatorError(`store ${storePath}: it has no identity`)
    return new BackupFolder(path, `${basename(storePath).replace(/\.[^.]+$/, '')}-${identity}-`)
  }

  private constructor(path: string, start: string) {
    this.path = path
    this.#start = start
  }

  /** Returns the path of a backup. @param time milliseconds since 1970 */
  fileAt(time: number): string {
    const stamp = new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '')
    return join(this.path, `${this.#start}${stamp}.db`)
  }

  /** Returns the time of the newest backup in milliseconds since 1970; 0 when there is none up to `now`. */
  newest(now: number): number {
    return this.#backups(now).findLast(({ time }) => time <= now)?.time ?? 0
  }

  /** Removes the oldest backups, so that `count` of them remain. It never removes `made`, whatever its stamp. */
  keepNewest(count: number, made: string, now: number): void {
    const others = this.#backups(now).filter(({ name }) => name !== basename(made))
    for (const { name } of others.slice(0, Math.max(0, others.length + 1 - count))) {
      rmSync(join(this.path, name), { force: true })
    }
  }

  /**
   * Returns the backups, oldest first. A stamp after `now` is of a clock that was wrong, and says nothing about the
   * age of the backup, so such backups come first.
   */
  #backups(now: number): { readonly name: string; readonly time: number }[] {
    return readdirSync(this.path)
      .flatMap((name) => {
        const time = timeIn(name, this.#start)
        return time === undefined ? [] : [{ name, time }]
      })
      .sort((one, other) => Number(one.time <= now) - Number(other.time <= now) || one.time - other.time)
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
