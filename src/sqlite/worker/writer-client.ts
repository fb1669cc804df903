import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { outOfReach } from '../errors.ts'
import type { WriterCalls } from '../write/writer.ts'
import { outcomeOf, type WriterPort } from '../write/writer-port.ts'
import type { WriterRequest, WriterResponse } from './writer-host.ts'

interface Pending {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** A writer in a thread of its own, seen from the main one. */
export class WriterClient implements WriterPort {
  readonly #worker: Worker
  readonly #pending: Pending[] = []
  readonly #onFatal: (error: Error) => void
  #dead: Error | undefined

  /** @param onFatal called when the writer can't go on; only a restart of the process mends that */
  constructor(path: string, onFatal: (error: Error) => void) {
    this.#onFatal = onFatal
    this.#worker = new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData: { path } })
    this.#worker.on('message', (response: WriterResponse) => this.#settle(response))
    this.#worker.on('error', (error) => this.#die(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => this.#die(new Error('the writer thread ended')))
  }

  /**
   * Runs one method of the writer; resolves after its commit.
   *
   * @throws AppError 50301 when the outcome can't be known, 50304 when there is no space
   */
  call<M extends keyof WriterCalls>(
    method: M,
    ...args: Parameters<WriterCalls[M]>
  ): Promise<ReturnType<WriterCalls[M]>> {
    if (this.#dead !== undefined) return Promise.reject(outOfReach(this.#dead))
    return new Promise((resolve, reject) => {
      this.#worker.postMessage({ method, args } as WriterRequest)
      this.#pending.push({ resolve, reject })
    })
  }

  /** Closes the database and ends the thread, after the calls that were made before. */
  async close(): Promise<void> {
    if (this.#dead !== undefined) return
    const exit = once(this.#worker, 'exit')
    try {
      await this.call('close')
    } finally {
      await exit
    }
  }

  #settle(response: WriterResponse): void {
    const call = this.#pending.shift()
    if (call === undefined) throw new Error('the writer answered a call that nobody made')
    try {
      call.resolve(outcomeOf(response, this.#onFatal) as never)
    } catch (error) {
      call.reject(error)
    }
  }

  #die(cause: Error): void {
    if (this.#dead !== undefined) return
    this.#dead = cause
    const unanswered = this.#pending.splice(0)
    for (const call of unanswered) call.reject(outOfReach(cause))
    if (unanswered.length > 0) this.#onFatal(cause)
  }
}
