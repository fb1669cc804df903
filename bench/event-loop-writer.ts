import { SqliteWriter, type WriterCalls } from '../src/sqlite/write/writer.ts'
import type { WriterPort } from '../src/sqlite/write/writer-port.ts'

/** The writer without its thread: every commit, and its fsync, holds up the event loop. */
export class EventLoopWriter implements WriterPort {
  readonly #writer: SqliteWriter

  constructor(path: string) {
    this.#writer = new SqliteWriter(path)
  }

  async call<M extends keyof WriterCalls>(
    method: M,
    ...args: Parameters<WriterCalls[M]>
  ): Promise<ReturnType<WriterCalls[M]>> {
    const run = this.#writer[method] as (...args: unknown[]) => unknown
    return run.apply(this.#writer, args) as ReturnType<WriterCalls[M]>
  }

  async close(): Promise<void> {
    this.#writer.close()
  }
}
