import { collectDefaultMetrics, Registry } from '@prometheus-io/client'
import type { BoundUse, Histogram } from '../../base/counts.ts'
import { type BoundName, METRICS, type MetricName, type MetricOf } from './catalog.ts'

export type Labels = Readonly<Record<string, string | number>>
/** A value of each set of labels. The values of labels need no escapes. */
export type Series<Value> = Iterable<readonly [Labels, Value]>

type BoundUses = Readonly<Partial<Record<BoundName, BoundUse>>>

/** Registers and writes the metrics of the service. The library has those of Node.js alone, because it counts by itself. */
export class Metrics {
  readonly #ofNode = nodeMetrics()
  readonly #writers: (() => string)[] = []
  readonly #bounds: (() => BoundUses)[] = []
  #collecting: Promise<string> | undefined

  constructor() {
    this.series('plantstore_bound_used', () => this.#uses(({ used }) => used))
    this.series('plantstore_bound_limit', () => this.#uses(({ max }) => max))
    this.series('plantstore_bound_refused_total', () => this.#uses(({ refused }) => refused))
  }

  /** @param read called for each scrape; for a counter it returns the count since the start */
  value(name: MetricOf<'gauge' | 'counter'>, read: () => number): void {
    this.series(name, () => [[{}, read()]])
  }

  /** @param read called for each scrape */
  series(name: MetricOf<'gauge' | 'counter'>, read: () => Series<number>): void {
    this.#writers.push(() => textOf(name, read(), ([labels, value]) => [sample(name, labels, value)]))
  }

  /** @param unit the observed values are divided by this */
  histogram(name: MetricOf<'histogram'>, unit: number, read: () => Series<Histogram>): void {
    this.#writers.push(() => textOf(name, read(), ([labels, one]) => samplesOf(name, labels, one, unit)))
  }

  /** @param read called for each scrape */
  bounds(read: () => BoundUses): void {
    this.#bounds.push(read)
  }

  get contentType(): string {
    return this.#ofNode.contentType
  }

  /**
   * Returns all metrics in the text format (https://prometheus.io/docs/instrumenting/exposition_formats/). Concurrent
   * scrapes share one text.
   */
  text(): Promise<string> {
    this.#collecting ??= this.#ofNode
      .metrics()
      .then((ofNode) => [ofNode.trimEnd(), ...this.#writers.map((write) => write()), ''].join('\n'))
      .finally(() => {
        this.#collecting = undefined
      })
    return this.#collecting
  }

  *#uses(read: (use: BoundUse) => number | undefined): Generator<readonly [Labels, number]> {
    for (const [name, use] of this.#bounds.flatMap((uses) => Object.entries(uses()))) {
      const value = read(use)
      if (value !== undefined) yield [{ bound: flagOf(name) }, value]
    }
  }
}

/** The least pause after a value was found, as a multiple of the time that this took. */
const PAUSE_FACTOR = 100

/**
 * Reads a value that takes long: in the background, only for scrapes, and at most a hundredth of the time. Until the
 * store answers, scrapes get the value of before.
 *
 * @param minPause milliseconds
 */
export function inBackground<T>(find: () => Promise<T>, first: T, minPause = 0): () => T {
  let latest = first
  let nextAt = Number.NEGATIVE_INFINITY
  const renew = async () => {
    const startedAt = performance.now()
    nextAt = Number.POSITIVE_INFINITY
    // Other metrics and the log show that the store is out of reach or closed.
    latest = await find().catch(() => latest)
    const now = performance.now()
    nextAt = now + Math.max(minPause, PAUSE_FACTOR * (now - startedAt))
  }
  return () => {
    if (performance.now() >= nextAt) void renew()
    return latest
  }
}

/** Returns the flag of a setting without its dashes: `max-waiting` for `maxWaiting`. */
const flagOf = (setting: string): string => setting.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function textOf<Value>(
  name: MetricName,
  series: Series<Value>,
  samplesOf: (one: readonly [Labels, Value]) => readonly string[],
): string {
  const { help, type } = METRICS[name]
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...[...series].flatMap(samplesOf)].join('\n')
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
  // As the library writes it. Readers take every spelling.
  const number = Number.isNaN(value) ? 'Nan' : value
  return pairs.length === 0 ? `${name} ${number}` : `${name}{${pairs.join()}} ${number}`
}

/** The samples of a histogram: the number of values up to each bound, their sum and their number. */
function samplesOf(name: string, labels: Labels, { counts, bounds, sum }: Histogram, unit: number): string[] {
  let count = 0
  const buckets = Array.from(counts, (values, i) => {
    count += values
    const bound = bounds[i]
    return sample(`${name}_bucket`, { le: bound === undefined ? '+Inf' : bound / unit, ...labels }, count)
  })
  return [...buckets, sample(`${name}_sum`, labels, sum / unit), sample(`${name}_count`, labels, count)]
}

/**
 * Metrics for which Node.js lists every open connection at each scrape, so that their cost grows with the number of
 * clients. `plantstore_connections` and `process_open_fds` show the same without this cost.
 */
const EXPENSIVE = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
]

/**
 * Metrics of a window over the time of day, which a loop moves in steps of 12 s: after a start in 1970 and the set of the
 * clock, it stops the event loop for 45 s. `nodejs_eventloop_lag_seconds` shows the same without a window.
 */
const WINDOWED = ['nodejs_eventloop_utilization_summary', 'nodejs_eventloop_utilization_histogram']
/** Milliseconds, the most that a timer takes: the library has no other switch for the timer of these metrics. */
const NEVER = 2 ** 31 - 1

/** The usual metrics of a Node.js process: memory, processor time, event loop, garbage collection. */
function nodeMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: NEVER })
  for (const name of [...EXPENSIVE, ...WINDOWED]) registry.removeSingleMetric(name)
  return registry
}
