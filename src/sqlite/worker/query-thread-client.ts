import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { appErrorOf, isFatal, outOfReach, shuttingDown } from '../errors.ts'
import type { QueryCalls } from '../read/query-reader.ts'
import { BehindError } from '../search-index/index-behind.ts'
import { DamagedIndex } from '../search-index/index-view.ts'
import type { QueryRequest, QueryResponse } from './query-thread.ts'

interface Pending {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** The reader in its thread, so that no search, export or dry run holds up the event loop. */
export class QueryThreadClient {
  readonly #worker: Worker
  readonly #onFatal: (error: Error) => void
  readonly #pending = new Map<number, Pending>()
  #lastCall = 0
  #dead: Error | undefined

  /** @param onFatal called when the file can't be trusted any more */
  constructor(path: string, onFatal: (error: Error) => void) {
    this.#onFatal = onFatal
    this.#worker = new Worker(new URL('./query-thread.ts', import.meta.url), { workerData: { path } })
    this.#worker.on('message', (response: QueryResponse) => this.#settle(response))
    this.#worker.on('error', (error) =>
      this.#die(outOfReach(error instanceof Error ? error : new Error(String(error)))),
    )
    this.#worker.on('exit', () => this.#die(outOfReach(new Error('the reader thread ended'))))
  }

  /**
   * Runs one method of the reader to its end.
   *
   * @throws BehindError when the search index lacks too many plants; DamagedIndex when it has a fault; AppError 50301, or 50303 when it is closed meanwhile
   */
  call<M extends keyof QueryCalls>(method: M, ...args: Parameters<QueryCalls[M]>): Promise<ReturnType<QueryCalls[M]>> {
    return this.callUnlessAborted(undefined, method, ...args)
  }

  /** The same; when the signal aborts, it rejects with the signal's reason, and the thread leaves the work alone. */
  async callUnlessAborted<M extends keyof QueryCalls>(
    signal: AbortSignal | undefined,
    method: M,
    ...args: Parameters<QueryCalls[M]>
  ): Promise<ReturnType<QueryCalls[M]>> {
    if (this.#dead !== undefined) throw this.#dead
    signal?.throwIfAborted()
    const call = ++this.#lastCall
    const cancel = () => this.#cancel(call, signal?.reason)
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      return await new Promise((resolve, reject) => {
        this.#worker.postMessage({ call, method, args } as QueryRequest)
        this.#pending.set(call, { resolve, reject })
      })
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }

  /** Whether its thread has ended: every call is refused then. */
  get isDead(): boolean {
    return this.#dead !== undefined
  }

  /** Ends what is under way, closes all connections and ends the thread. */
  async close(): Promise<void> {
    if (this.#dead !== undefined) return
    const exit = once(this.#worker, 'exit')
    this.#die(shuttingDown())
    this.#worker.postMessage('close' satisfies QueryRequest)
    await exit
  }

  #cancel(call: number, reason: unknown): void {
    this.#worker.postMessage({ cancel: call } satisfies QueryRequest)
    this.#pending.get(call)?.reject(reason)
    this.#pending.delete(call)
  }

  #settle(response: QueryResponse): void {
    const pending = this.#pending.get(response.call)
    // It was cancelled, or was told already that the store is closing.
    if (pending === undefined) return
    this.#pending.delete(response.call)
    if ('value' in response) pending.resolve(response.value as never)
    else if ('behind' in response) pending.reject(new BehindError())
    else if ('damagedIndex' in response) {
      const { inode, message } = response.damagedIndex
      pending.reject(new DamagedIndex(inode, message))
    } else if ('bug' in response) pending.reject(new Error(response.bug))
    else {
      const error = appErrorOf(response.fault)
      if (isFatal(response.fault)) this.#onFatal(error)
      pending.reject(error)
    }
  }

  #die(why: Error): void {
    this.#dead ??= why
    for (const { reject } of this.#pending.values()) reject(why)
    this.#pending.clear()
  }
}
