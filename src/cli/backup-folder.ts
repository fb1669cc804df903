import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { removeAbandonedDrafts } from '../base/new-file.ts'
import { OperatorError } from '../base/operator-error.ts'

interface Backup {
  readonly name: string
  /** Milliseconds since 1970, by the clock of the service that made it. */
  readonly time: number
}

/** @throws OperatorError when the folder is missing, or this process can't write to it */
export function mustBeBackupFolder(path: string): void {
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
