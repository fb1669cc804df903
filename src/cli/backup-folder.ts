import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { OperatorError } from '../operator-error.ts'

/** Manages the backups of one store in a folder. It never touches a file with another name. */
export class BackupFolder {
  readonly #path: string
  readonly #name: string

  /** @throws OperatorError when the folder is missing, or this process can't write to it */
  constructor(path: string, storePath: string) {
    this.#path = path
    this.#name = basename(storePath).replace(/\.[^.]+$/, '')
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) throw refusal(path, 'it does not exist; create it first')
    if (!stat.isDirectory()) throw refusal(path, 'it is not a folder')
    try {
      accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    } catch {
      throw refusal(path, "it can't be written")
    }
  }

  /** Returns the path of a backup, such as `plants-20261122T021500Z.db`. @param time milliseconds since 1970 */
  fileAt(time: number): string {
    return join(this.#path, `${this.#name}-${new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.db`)
  }

  /** Returns the time of the newest backup in milliseconds since 1970; undefined when there is none. */
  newest(): number | undefined {
    const stamp = this.#backups()
      .at(-1)
      ?.slice(this.#name.length + 1, -'.db'.length)
    return stamp === undefined ? undefined : Date.parse(stamp.replace(STAMP, '$1-$2-$3T$4:$5:$6Z'))
  }

  /** Removes the oldest backups, except for this number of newer ones. */
  keepNewest(count: number): void {
    for (const name of this.#backups().slice(0, -count)) rmSync(join(this.#path, name), { force: true })
  }

  /** Removes the drafts that a backup has left, such as after a power cut. */
  removeUnfinished(): void {
    for (const name of readdirSync(this.#path)) {
      const [, backup = '', pid] = /^(.+\.db)\.new-(\d+)-[0-9a-f]{8}(?:-journal|-wal|-shm)?$/.exec(name) ?? []
      if (this.#isBackup(backup) && !isRunning(Number(pid))) rmSync(join(this.#path, name), { force: true })
    }
  }

  /** The names of the backups, oldest first. */
  #backups(): string[] {
    return readdirSync(this.#path)
      .filter((name) => this.#isBackup(name))
      .sort()
  }

  #isBackup(name: string): boolean {
    const start = `${this.#name}-`
    return name.startsWith(start) && name.endsWith('.db') && STAMP.test(name.slice(start.length, -'.db'.length))
  }
}

const STAMP = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const refusal = (path: string, why: string): OperatorError => new OperatorError(`backup folder ${path}: ${why}`)
