import { type Stats, statSync } from 'node:fs'

/** The suffixes of the store's file, its WAL and its WAL-index. */
const SUFFIXES = ['', '-wal', '-shm']
/** Milliseconds between two checks. Writes to a removed file are lost. */
const INTERVAL = 1000

/** Reports when a file of an open store is removed or replaced. SQLite itself never replaces one. */
export class FileWatch {
  readonly #files: ReadonlyMap<string, Stats>
  readonly #onGone: (error: Error) => void
  readonly #timer: NodeJS.Timeout

  /** @param onGone called at each check that finds a file removed or replaced */
  constructor(path: string, onGone: (error: Error) => void) {
    this.#files = new Map(SUFFIXES.map((suffix) => [path + suffix, statSync(path + suffix)]))
    this.#onGone = onGone
    this.#timer = setInterval(() => this.check(), INTERVAL).unref()
  }

  check(): void {
    const { fault } = this
    if (fault !== undefined) this.#onGone(fault)
  }

  /** Names the first file that is removed or replaced now, or whose path leads nowhere. */
  get fault(): Error | undefined {
    for (const [path, { ino, dev }] of this.#files) {
      try {
        const now = statSync(path, { throwIfNoEntry: false })
        if (now?.ino === ino && now.dev === dev) continue
      } catch (cause) {
        return new Error(`the file ${path} cannot be reached any more`, { cause })
      }
      return new Error(`the file ${path} was removed or replaced while it was in use`)
    }
    return undefined
  }

  end(): void {
    clearInterval(this.#timer)
  }
}
