import type { ChangeEntry, ChangeLog, ChangeLogUse, ChangePage, ChangeRequest } from '../../domain/changes.ts'
import type { QueryClient } from './query-client.ts'

/** The log of changes for clients. The thread for queries reads it. */
export class SqliteChangeLog implements ChangeLog {
  readonly #reads: () => QueryClient

  constructor(reads: () => QueryClient) {
    this.#reads = reads
  }

  async end(): Promise<string> {
    return this.#reads().readChanges((reader) => reader.endOfChanges())
  }

  async read(request: ChangeRequest, signal?: AbortSignal): Promise<ChangePage> {
    return this.#reads().readChanges((reader) => reader.readChanges(request), signal)
  }

  async history(id: bigint, before: string | undefined, limit: number, signal?: AbortSignal): Promise<ChangeEntry[]> {
    return this.#reads().readChanges((reader) => reader.history(id, before, limit), signal)
  }

  async usage(): Promise<ChangeLogUse> {
    return this.#reads().readChanges((reader) => reader.usageOfChanges())
  }
}
