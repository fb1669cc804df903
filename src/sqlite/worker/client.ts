import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { NotEnded, outOfReach } from '../../domain/errors.ts'
import { abortable } from '../../domain/store.ts'
import { isFatal, isFull } from '../errors.ts'
import type { IndexReport } from '../indexed.ts'
import {
  errorOf,
  type Failure,
  type Remote,
  type Reply,
  type Request,
  type Served,
  type ThreadData,
} from './protocol.ts'
import { startThread } from './start-thread.ts'

export interface ThreadEvents {
  /** Called when the file of the store can't be trusted any more. The client refuses every later call. */
  onFatal?(error: Error): void
  /** Called when a call fails because the store has no space left. */
  readonly onFull?: (() => void) | undefined
  /** Called once when the thread has ended, also after `close`, with the number of unanswered calls. */
  onEnd?(cause: Error, unanswered: number): unknown
  onProgress?(progress: IndexReport): void
}

interface CloseOptions {
  /** The error with which to reject the unanswered calls at once. */
  readonly abandon?: Error
  /** Milliseconds; without them, the thread ends after the call under way. Only for work that may end anywhere. */
  readonly within?: number | undefined
}

/** Starts a thread, and calls the methods of the thread's object by messages. */
export class ThreadClient<T extends Served> {
  /**
   * The methods of the thread's object. Each rejects with AppError 50301 after the thread's end, or as `errorOf` says.
   */
  readonly remote: Remote<T>
  readonly #worker: Worker
  readonly #events: ThreadEvents
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  #lastCall = 0
  /** The error with which the client refuses calls; undefined while it accepts them. */
  #refusal: Error | undefined
  #hasEnded = false

  constructor(role: ThreadData['role'], path: string, events: ThreadEvents) {
    this.#events = events
    this.#worker = startThread({ role, path })
    this.#worker.on('message', (reply: Reply) => this.#take(reply))
    this.#worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => this.#end(new Error(`the thread of the ${role} ended`)))
    this.remote = this.#remote()
  }

  /** The methods of `remote`. When the signal aborts, a call rejects with its reason, and the thread drops the work. */
  unlessAborted(signal: AbortSignal | undefined): Remote<T> {
    return signal === undefined ? this.remote : this.#remote(signal)
  }

  get unanswered(): number {
    return this.#pending.size
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  refuse(refusal: Error): void {
    this.#refusal ??= refusal
  }

  unref(): void {
    this.#worker.unref()
  }

  /**
   * Ends all tasks where they are, closes the thread's object after the earlier calls, and ends the thread.
   *
   * @throws NotEnded when the thread has not ended after `within` milliseconds
   */
  async close({ abandon, within }: CloseOptions = {}): Promise<void> {
    if (this.#hasEnded) return
    if (abandon !== undefined) this.#abandon(abandon)
    this.#worker.ref()
    const exit = once(this.#worker, 'exit')
    const late = within === undefined ? undefined : AbortSignal.timeout(within)
    try {
      await abortable(
        this.#send('close', []).finally(() => exit),
        late,
      )
    } catch (error) {
      if (late?.aborted === true) throw new NotEnded(`a thread has not ended within ${within} ms`)
      // A thread that has ended without an answer is closed too.
      if (!this.#hasEnded) throw error
    }
  }

  #remote(signal?: AbortSignal): Remote<T> {
    return new Proxy({} as Remote<T> & object, {
      get:
        (_, method) =>
        async (...args: unknown[]) => {
          signal?.throwIfAborted()
          if (this.#refusal !== undefined) throw this.#refusal
          return this.#send(String(method), args, signal)
        },
    })
  }

  #send(method: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    const call = ++this.#lastCall
    const pending = Promise.withResolvers<unknown>()
    this.#worker.postMessage({ call, method, args } satisfies Request)
    this.#pending.set(call, pending)
    if (signal === undefined) return pending.promise
    const abort = () => {
      this.#worker.postMessage({ abort: call } satisfies Request)
      this.#pending.delete(call)
      pending.reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    return pending.promise.finally(() => signal.removeEventListener('abort', abort))
  }

  #take(reply: Reply): void {
    if ('progress' in reply) {
      this.#events.onProgress?.(reply.progress)
      return
    }
    // Absent when the caller has aborted or abandoned the call.
    const pending = this.#pending.get(reply.call)
    this.#pending.delete(reply.call)
    if ('value' in reply) pending?.resolve(reply.value)
    else pending?.reject(this.#errorOf(reply.failure))
  }

  #errorOf(failure: Failure): Error {
    const error = errorOf(failure)
    if (failure.failure === 'sqlite' && isFatal(failure.fault)) {
      this.refuse(error)
      this.#events.onFatal?.(error)
    }
    if (failure.failure === 'sqlite' && isFull(failure.fault)) this.#events.onFull?.()
    return error
  }

  #end(cause: Error): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const unanswered = this.#pending.size
    this.#abandon(outOfReach(cause))
    this.#events.onEnd?.(cause, unanswered)
  }

  #abandon(why: Error): void {
    this.refuse(why)
    for (const { reject } of this.#pending.values()) reject(why)
    this.#pending.clear()
  }
}
