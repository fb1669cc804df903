import { Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client'
import type { BoundUse, Histogram } from '../../base/counts.ts'
import { type BoundName, METRICS, type MetricInfo, type MetricOf } from './catalog.ts'

export type Labels = Readonly<Record<string, string | number>>

/** Registers and writes the metrics of the service. It writes histograms itself: those of the library count on their own. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #histograms: (() => string)[] = []
  readonly #bounds = new Map<BoundName, () => BoundUse>()
  #collecting: Promise<string> | undefined

  constructor() {
    nodeMetrics(this.#registry)
    this.series('plantstore_bound_used', () => this.#uses(({ used }) => used))
    this.series('plantstore_bound_limit', () => this.#uses(({ max }) => max))
    this.series('plantstore_bound_refused_total', () => this.#uses(({ refused }) => refused))
  }

  /** @param read called for each scrape; for a counter it returns the count since the start */
  value(name: MetricOf<'gauge' | 'counter'>, read: () => number): void {
    this.series(name, () => [[{}, read()]])
  }

  /** @param read called for each scrape; returns the value of each set of labels */
  series(name: MetricOf<'gauge' | 'counter'>, read: () => Iterable<readonly [Labels, number]>): void {
    const { type, help, labels = {} }: MetricInfo = METRICS[name]
    const options = { name, help, labelNames: Object.keys(labels), registers: [this.#registry] }
    if (type === 'counter') {
      new Counter({
        ...options,
        collect() {
          this.reset()
          for (const [labels, value] of read()) this.inc(labels, value)
        },
      })
    } else {
      new Gauge({
        ...options,
        collect() {
          this.reset()
          for (const [labels, value] of read()) this.set(labels, value)
        },
      })
    }
  }

  /** @param unit the observed values are divided by this */
  histogram(name: MetricOf<'histogram'>, unit: number, read: () => Iterable<readonly [Labels, Histogram]>): void {
    this.#histograms.push(() => histogramText(name, METRICS[name].help, unit, read()))
  }

  /** Registers bounds. @param read called for each scrape */
  bounds(read: Readonly<Partial<Record<BoundName, () => BoundUse>>>): void {
    for (const [name, use] of Object.entries(read)) this.#bounds.set(name as BoundName, use)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /**
   * Returns all metrics in the text format (https://prometheus.io/docs/instrumenting/exposition_formats/). Concurrent
   * scrapes share one text.
   */
  text(): Promise<string> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined
    })
    return this.#collecting
  }

  async #collect(): Promise<string> {
    const others = await this.#registry.metrics()
    return `${others}\n${this.#histograms.map((write) => write()).join('\n')}`
  }

  *#uses(read: (use: BoundUse) => number | undefined): Generator<readonly [Labels, number]> {
    for (const [name, use] of this.#bounds) {
      const value = read(use())
      if (value !== undefined) yield [{ bound: flagOf(name) }, value]
    }
  }
}

/** Returns the flag of a setting without its dashes: `max-waiting` for `maxWaiting`. */
const flagOf = (setting: string): string => setting.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

type Series = readonly [labels: Readonly<Record<string, string | number>>, histogram: Histogram]

/**
 * Writes a histogram in the text format (https://prometheus.io/docs/instrumenting/exposition_formats/).
 *
 * @param unit the observed values are divided by this
 * @param series with label values that need no escapes
 */
function histogramText(name: string, help: string, unit: number, series: Iterable<Series>): string {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
  for (const [labels, histogram] of series) {
    const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    let count = 0
    for (const [i, values] of histogram.counts.entries()) {
      count += values
      const bound = histogram.bounds[i]
      const le = `le="${bound === undefined ? '+Inf' : bound / unit}"`
      lines.push(`${name}_bucket{${[le, ...pairs].join()}} ${count}`)
    }
    lines.push(`${name}_sum{${pairs.join()}} ${histogram.sum / unit}`, `${name}_count{${pairs.join()}} ${count}`)
  }
  return `${lines.join('\n')}\n`
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

/** Registers the usual metrics of a Node.js process: memory, processor time, event loop, garbage collection. */
function nodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: NEVER })
  for (const name of [...EXPENSIVE, ...WINDOWED]) registry.removeSingleMetric(name)
}
