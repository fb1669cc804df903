import { isFatal, type SqliteFault, sqliteFault } from '../errors.ts'
import type { SqliteWriter, WriterCalls } from '../write/writer.ts'

/** A call of one of the writer's methods, and what came of it, in a form that can cross between threads. */
export type WriterRequest = {
  [M in keyof WriterCalls]: { method: M; args: Parameters<WriterCalls[M]> }
}[keyof WriterCalls]
export type WriterResponse = { value: unknown } | { fault: SqliteFault } | { bug: string }

/** Runs a writer's methods, on whichever thread it is. */
export class WriterHost {
  readonly #open: () => SqliteWriter
  #writer: SqliteWriter | undefined
  /**
   * Set for good by a fault after which the file can't be trusted: a later fsync that succeeds proves nothing then, so a
   * group that was sent before anybody knew must not be committed and acknowledged.
   */
  #broken: SqliteFault | undefined

  /** @param open called by the first request, so that a store that can't be opened is an answer and not a dead thread */
  constructor(open: () => SqliteWriter) {
    this.#open = open
  }

  run({ method, args }: WriterRequest): WriterResponse {
    try {
      if (method === 'close' && this.#writer === undefined) return { value: undefined }
      if (method !== 'close' && this.#broken !== undefined) return { fault: this.#broken }
      this.#writer ??= this.#open()
      const call = this.#writer[method] as (...args: unknown[]) => unknown
      return { value: call.apply(this.#writer, args) }
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault !== undefined && isFatal(fault)) this.#broken = fault
      return fault === undefined
        ? { bug: error instanceof Error ? (error.stack ?? error.message) : String(error) }
        : { fault }
    }
  }
}
