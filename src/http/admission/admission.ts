import { AppError } from '../../domain/errors.ts'
import type { Config } from '../../settings/config.ts'
import type { TokenWatch } from '../auth/token-watch.ts'
import type { DeferredTasks } from '../connection/deferred-tasks.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { FairQueue, SharedBound } from './fair-queue.ts'

export interface AdmissionParts {
  readonly tokens: TokenWatch
  readonly deferred: DeferredTasks
  /** Exports and dry runs that the store runs at once, together. */
  readonly maxLongWork?: number | undefined
}

/** The kinds of long work. `change` is a change of tokens, or a reservation of ids. */
export type Work = 'search' | 'export' | 'import' | 'dryRun' | 'patch' | 'change'

/**
 * Runs a bounded amount of long work at once, fairly between tokens. Ends work when its client leaves, when its token
 * is revoked or expires, and after its timeout.
 */
export class Admission {
  readonly #queues: Readonly<Record<Work, FairQueue>>
  readonly #timeouts: Readonly<Partial<Record<Work, number>>>
  readonly #tokens: TokenWatch
  readonly #deferred: DeferredTasks

  constructor(config: Config, { tokens, deferred, maxLongWork = Number.POSITIVE_INFINITY }: AdmissionParts) {
    const atOnce = (noun: string, running: number, runningPerToken: number, shared?: SharedBound) =>
      new FairQueue({ noun, running, runningPerToken, waiting: 0, waitingPerToken: 0, shared })
    const long = new SharedBound('exports and dry runs', maxLongWork)
    this.#queues = {
      search: new FairQueue({
        noun: 'searches',
        running: config.maxSearches,
        runningPerToken: config.maxSearchesPerToken,
        waiting: config.searchQueue,
        waitingPerToken: config.searchQueuePerToken,
      }),
      export: atOnce('exports', config.maxExports, config.maxExportsPerToken, long),
      import: atOnce('imports', config.maxImports, config.maxImportsPerToken),
      // A patch of a few bytes may read and answer a plant of two mebibytes.
      patch: new FairQueue({
        noun: 'patches',
        running: config.maxPatches,
        runningPerToken: config.maxPatches,
        waiting: config.maxWaiting,
        waitingPerToken: config.maxWaiting,
      }),
      // One at a time: each is a commit of its own, so a create waits for at most one of them.
      change: new FairQueue({
        noun: 'changes of tokens and reservations of ids',
        running: 1,
        runningPerToken: 1,
        waiting: config.changeQueue,
        waitingPerToken: config.changeQueuePerToken,
      }),
      dryRun: atOnce('dry runs', config.maxDryRuns, config.maxDryRunsPerToken, long),
    }
    this.#timeouts = { search: config.searchTimeout, export: config.exportTimeout }
    this.#tokens = tokens
    this.#deferred = deferred
  }

  /** Registers the metrics of long work that runs, waits or was refused. */
  describe(metrics: Metrics): void {
    const each = Object.entries(this.#queues)
    metrics.series('plantstore_work_running', () => each.map(([work, queue]) => [{ work }, queue.running]))
    metrics.series('plantstore_work_waiting', () =>
      (['search', 'patch', 'change'] as const).map((work) => [{ work }, this.#queues[work].waiting]),
    )
    metrics.series('plantstore_work_refused_total', () =>
      each.flatMap(([work, { refused }]) =>
        Object.entries(refused).map(([bound, count]) => [{ work, bound }, count] as const),
      ),
    )
    const { search, export: exports, import: imports, dryRun, patch, change } = this.#queues
    metrics.bound('maxSearches', search.bounds.running, () => search.running)
    metrics.bound('searchQueue', search.bounds.waiting, () => search.waiting)
    metrics.bound('maxExports', exports.bounds.running, () => exports.running)
    metrics.bound('maxImports', imports.bounds.running, () => imports.running)
    metrics.bound('maxDryRuns', dryRun.bounds.running, () => dryRun.running)
    metrics.bound('maxPatches', patch.bounds.running, () => patch.running)
    metrics.bound('changeQueue', change.bounds.waiting, () => change.waiting)
  }

  /**
   * Waits for the turn of a request, then runs its work.
   *
   * @param run must reject with the signal's reason when the signal aborts
   * @throws AppError 42901 or 50302 when too much work is under way, 50302 after the timeout, 40102 or 40103 when the
   *   token is no longer valid; ClientGone when the client leaves; any error of `run`
   */
  async during<T>(work: Work, exchange: Exchange, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { identity } = exchange
    if (identity === undefined) throw new Error('an operation with long work needs a token')
    const ending = new AbortController()
    const end = (reason: unknown) => ending.abort(reason)
    const unwatch = this.#tokens.watch(identity, end)
    const timer = this.#startTimer(work, end)
    const { signal } = exchange
    const onGone = () => end(signal.reason)
    signal.addEventListener('abort', onGone)
    try {
      signal.throwIfAborted()
      const leave = await this.#queues[work].enter(identity.actor.id, ending.signal)
      try {
        // Large results make turns of the event loop long, and each new connection takes one.
        if (this.#deferred.isAccepting) await new Promise<void>((resolve) => this.#deferred.add(resolve))
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
