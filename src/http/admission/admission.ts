import { Bound } from '../../base/counts.ts'
import { AppError } from '../../domain/errors.ts'
import { type Identity, PUBLIC } from '../../domain/token.ts'
import type { Config } from '../../settings/config.ts'
import type { BoundName } from '../metrics/catalog.ts'
import type { Exchange } from '../request/exchange.ts'
import type { DeferredTasks } from './turns.ts'

interface Tokens {
  /** Calls `end` with a refusal once the token is no longer valid. @returns a function that ends the watch */
  watch(identity: Identity, end: (reason: unknown) => void): () => void
}

/** Whose work it is, and the signal of its end. */
type Asker = Pick<Exchange, 'sender' | 'signal'>

/** The kinds of long work. `change` is a change of tokens, or a reservation of ids; `page` a short page by id; `agent` a message of one. */
type Work = 'search' | 'page' | 'agent' | 'export' | 'stream' | 'import' | 'dryRun' | 'change'

/**
 * Runs a bounded amount of long work at once, fairly between tokens. Ends work when its client leaves, when its token
 * is revoked or expires, and after its timeout.
 */
export class Admission {
  readonly #queues: Readonly<Record<Work, FairQueue>>
  readonly #timeouts: Readonly<Partial<Record<Work, number>>>
  readonly #tokens: Tokens
  readonly #deferred: DeferredTasks

  constructor(config: Config, tokens: Tokens, deferred: DeferredTasks) {
    const { maxSearches, searchQueue, searchQueuePerToken, changeQueue, changeQueuePerToken } = config
    this.#queues = {
      search: new FairQueue('searches', {
        running: maxSearches,
        waiting: searchQueue,
        waitingPerToken: searchQueuePerToken,
      }),
      // A page takes a millisecond, so nobody is refused one.
      page: new FairQueue('pages', { running: maxSearches, waiting: config.maxWaiting }),
      // Its operation may wait in a queue of these, so it has one of its own.
      agent: new FairQueue('messages of agents', { running: maxSearches, waiting: config.maxWaiting }),
      export: new FairQueue('exports', { running: config.maxExports }),
      dryRun: new FairQueue('dry runs', { running: config.maxDryRuns }),
      import: new FairQueue('imports', { running: config.maxImports }),
      stream: new FairQueue('streams', { running: config.maxStreams, runningPerToken: config.maxStreamsPerToken }),
      // One at a time: each is a commit of its own, so a create waits for at most one of them.
      change: new FairQueue('changes of tokens and reservations of ids', {
        running: 1,
        waiting: changeQueue,
        waitingPerToken: changeQueuePerToken,
      }),
    }
    this.#timeouts = { search: config.searchTimeout, page: config.searchTimeout, export: config.exportTimeout }
    this.#tokens = tokens
    this.#deferred = deferred
  }

  get bounds(): Readonly<Partial<Record<BoundName, Bound>>> {
    const { search, export: exports, stream, import: imports, dryRun, change } = this.#queues
    return {
      maxSearches: search.running,
      searchQueue: search.waiting,
      maxExports: exports.running,
      maxStreams: stream.running,
      maxImports: imports.running,
      maxDryRuns: dryRun.running,
      changes: change.running,
      changeQueue: change.waiting,
    }
  }

  /**
   * Waits for the turn of a request, then runs its work.
   *
   * @param run must reject with the signal's reason when the signal aborts
   * @throws AppError 42901 or 50302 when too much work is under way, 50302 after the timeout, 40102 or 40103 when the
   *   token is no longer valid; an Error when the client leaves; any error of `run`
   */
  async during<T>(work: Work, exchange: Asker, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { sender, signal } = exchange
    const ending = new AbortController()
    const end = (reason: unknown) => ending.abort(reason)
    const unwatch = this.#tokens.watch(sender, end)
    const timer = this.#startTimer(work, end)
    const onGone = () => end(signal.reason)
    signal.addEventListener('abort', onGone)
    try {
      signal.throwIfAborted()
      const leave = await this.#queues[work].enter(sender.actor.id, ending.signal)
      try {
        // Large results make turns of the event loop long, and each new connection takes one. Work that began in the turn
        // in which other work ends would keep that turn from ending: it hands out up to 1,000 messages of a thread, as long
        // as the next one is there (MessagePort::OnMessage in Node's src/node_messaging.cc).
        await new Promise<void>((resolve) => this.#deferred.add(resolve))
        ending.signal.throwIfAborted()
        return await run(ending.signal)
      } finally {
        leave()
      }
    } finally {
      signal.removeEventListener('abort', onGone)
      clearTimeout(timer)
      unwatch()
    }
  }

  #startTimer(work: Work, end: (reason: unknown) => void): NodeJS.Timeout | undefined {
    const time = this.#timeouts[work]
    if (time === undefined) return undefined
    const message = `the ${work} took longer than ${time / 1000} s; request less at once, or retry later`
    return setTimeout(() => end(new AppError(50302, message)), time)
  }
}

export interface QueueOptions {
  readonly running: number
  /** Half of it by default. */
  readonly runningPerToken?: number
  /** Work that waits at once; without it the queue refuses work instead. */
  readonly waiting?: number
  /** As much by default. */
  readonly waitingPerToken?: number
}

interface Line {
  running: number
  readonly waiting: Set<() => void>
}

/** Admits a bounded amount of work. Tokens with waiting work take turns, whatever the amount of each. */
export class FairQueue {
  readonly running: Bound
  readonly waiting: Bound
  readonly #noun: string
  readonly #runningPerToken: number
  readonly #waitingPerToken: number
  /** By token, in the order of their turns. */
  readonly #lines = new Map<string, Line>()

  /** @param noun the name of the work in a refusal, such as `searches` */
  constructor(noun: string, options: QueueOptions) {
    const { running, runningPerToken = Math.ceil(running / 2), waiting = 0, waitingPerToken = waiting } = options
    this.#noun = noun
    this.#runningPerToken = runningPerToken
    this.#waitingPerToken = waitingPerToken
    this.running = new Bound(running)
    this.waiting = new Bound(waiting)
  }

  /**
   * Resolves when the work may run, with a function that ends its turn. A second call of the function does nothing.
   *
   * @param signal ends the wait, which then rejects with the signal's reason
   * @throws AppError 42901 when the token has too much work under way, 50302 when all tokens together have
   */
  async enter(token: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const line = this.#lines.get(token) ?? { running: 0, waiting: new Set() }
    if (!this.#hasPlace(line)) await this.#wait(token, line, signal)
    else this.#start(token, line)
    let isOver = false
    return () => {
      if (!isOver) this.#end(token, line)
      isOver = true
    }
  }

  #hasPlace({ running }: Line): boolean {
    return running < this.#runningPerToken && this.running.hasRoom()
  }

  #wait(token: string, line: Line, signal: AbortSignal): Promise<void> {
    this.#refuseExcess(token, line)
    return new Promise((resolve, reject) => {
      const leave = () => {
        line.waiting.delete(start)
        this.waiting.used--
        signal.removeEventListener('abort', giveUp)
      }
      const start = () => {
        leave()
        this.#start(token, line)
        resolve()
      }
      const giveUp = () => {
        leave()
        this.#forgetEmpty(token, line)
        reject(signal.reason)
      }
      line.waiting.add(start)
      this.#lines.set(token, line)
      this.waiting.used++
      signal.addEventListener('abort', giveUp)
    })
  }

  #refuseExcess(token: string, { running, waiting }: Line): void {
    const isLineFull =
      waiting.size >= this.#waitingPerToken && (this.#waitingPerToken > 0 || running >= this.#runningPerToken)
    if (!isLineFull && this.waiting.hasRoom()) return
    const full = this.waiting.max > 0 ? this.waiting : this.running
    full.refused++
    if (isLineFull) {
      const whose = token === PUBLIC.id ? 'without a token' : 'of this token'
      const message = `${waiting.size || running} ${this.#noun} ${whose} are already in progress; wait until one ends`
      throw new AppError(42901, message)
    }
    throw new AppError(50302, `${full.used} ${this.#noun} are already in progress; retry later`)
  }

  /** Moves the token to the end of the queue. */
  #start(token: string, line: Line): void {
    this.running.used++
    line.running++
    this.#lines.delete(token)
    this.#lines.set(token, line)
  }

  #end(token: string, line: Line): void {
    this.running.used--
    line.running--
    this.#forgetEmpty(token, line)
    for (const next of this.#lines.values()) {
      const [start] = next.waiting
      if (start === undefined || !this.#hasPlace(next)) continue
      start()
      return
    }
  }

  #forgetEmpty(token: string, { running, waiting }: Line): void {
    if (running + waiting.size === 0) this.#lines.delete(token)
  }
}
