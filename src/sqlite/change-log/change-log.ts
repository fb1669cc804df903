import type { ChangeEntry, ChangeLog, ChangeLogUse, ChangePage, ChangeRequest } from '../../domain/changes.ts'
import type { QueryClient } from '../read/query-client.ts'
import { changesOf } from './change-columns.ts'

/** Milliseconds between two looks for writes of other processes. */
const OTHER_WRITES_INTERVAL = 1000

/** The log of changes for clients. The thread for queries reads it. */
export class SqliteChangeLog implements ChangeLog {
  readonly #reads: () => QueryClient
  readonly #onCommit: Set<() => void>

  /** @param onCommit what this process calls after each of its commits */
  constructor(reads: () => QueryClient, onCommit: Set<() => void>) {
    this.#reads = reads
    this.#onCommit = onCommit
  }

  async end(): Promise<string> {
    return this.#reads().readChanges((reader) => reader.endOfChanges())
  }

  async read(request: ChangeRequest, signal?: AbortSignal): Promise<ChangePage> {
    return changesOf(await this.#reads().readChanges((reader) => reader.readChanges(request), signal))
  }

  async history(id: bigint, before: string | undefined, limit: number, signal?: AbortSignal): Promise<ChangeEntry[]> {
    return this.#reads().readChanges((reader) => reader.history(id, before, limit), signal)
  }

  async usage(): Promise<ChangeLogUse> {
    return this.#reads().readChanges((reader) => reader.usageOfChanges())
  }

  grown(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        this.#onCommit.delete(end)
        resolve()
      }
      const timer = setTimeout(end, signal.aborted ? 0 : OTHER_WRITES_INTERVAL)
      signal.addEventListener('abort', end)
      this.#onCommit.add(end)
    })
  }
}
