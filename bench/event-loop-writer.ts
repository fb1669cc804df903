import type { Remote } from '../src/sqlite/worker/protocol.ts'
import type { Writer } from '../src/sqlite/write/write-queue.ts'
import { SqliteWriter } from '../src/sqlite/write/writer.ts'

/** The writer without its thread: every commit and its fsync block the event loop. */
export function eventLoopWriter(path: string): Writer {
  const writer = new SqliteWriter(path)
  const thread = new Proxy({} as Remote<SqliteWriter>, {
    get:
      (_, method) =>
      async (...args: unknown[]): Promise<unknown> =>
        Reflect.apply(Reflect.get(writer, method), writer, args),
  })
  return {
    thread,
    createPlants: async (rows) => writer.createPlants(rows),
    run: async (statements) => writer.run(statements),
    close: async () => writer.close(),
  }
}
