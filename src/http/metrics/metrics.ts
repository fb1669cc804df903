import { Counter, Gauge, Registry } from '@prometheus-io/client'
import { Histogram } from '../../histogram.ts'
import { type BoundName, METRICS, type MetricInfo, type MetricOf } from './catalog.ts'
import { histogramText } from './histogram-text.ts'
import { nodeMetrics } from './node-metrics.ts'

/** Upper bounds of the buckets of answers, in milliseconds. */
const MILLISECONDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000]

/** The answers to one operation so far. */
interface Answers {
  readonly byStatus: Float64Array
  readonly milliseconds: Histogram
}

export type Labels = Readonly<Record<string, string | number>>

interface Bound {
  readonly limit: () => number
  readonly used: () => number
}

/**
 * What the service counts.
 *
 * It counts answers in plain arrays, in about 0.05 µs each. The metrics library takes eight times as long, 2% of a
 * create, and its histogram takes over no counts, so histograms are written as text here.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #answers = new Map<string, Answers>()
  readonly #refusals = new Map<number, number>()
  readonly #histograms: (() => string)[] = []
  readonly #bounds = new Map<BoundName, Bound>()
  #collecting: Promise<string> | undefined

  constructor() {
    nodeMetrics(this.#registry)
    this.series('plantstore_http_requests_total', () => this.#requests())
    this.series('plantstore_refusals_total', () => [...this.#refusals].map(([error, count]) => [{ error }, count]))
    this.histogram('plantstore_http_request_seconds', 1000, () =>
      [...this.#answers].map(([operation, { milliseconds }]) => [{ operation }, milliseconds]),
    )
    const bounds = (read: (bound: Bound) => number) => () =>
      [...this.#bounds].map(([name, bound]) => [{ bound: flagOf(name) }, read(bound)] as const)
    this.series(
      'plantstore_bound_used',
      bounds(({ used }) => used()),
    )
    this.series(
      'plantstore_bound_limit',
      bounds(({ limit }) => limit()),
    )
  }

  /** @param read called for each scrape; a counter gives what was counted since the start */
  value(name: MetricOf<'gauge' | 'counter'>, read: () => number): void {
    this.series(name, () => [[{}, read()]])
  }

  /** @param read called for each scrape, gives the value for each set of labels */
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

  /** @param unit by which the observed values are divided */
  histogram(name: MetricOf<'histogram'>, unit: number, read: () => Iterable<readonly [Labels, Histogram]>): void {
    this.#histograms.push(() => histogramText(name, METRICS[name].help, unit, read()))
  }

  /** Shows how much of a bound is in use. */
  bound(name: BoundName, limit: number | (() => number), used: () => number): void {
    this.#bounds.set(name, { limit: typeof limit === 'number' ? () => limit : limit, used })
  }

  /** Counts one answer. `operation` is `none` where there was none. */
  observe(operation: string, status: number, milliseconds: number): void {
    let answers = this.#answers.get(operation)
    if (answers === undefined) {
      answers = { byStatus: new Float64Array(600), milliseconds: new Histogram(MILLISECONDS) }
      this.#answers.set(operation, answers)
    }
    answers.byStatus[status] = (answers.byStatus[status] ?? 0) + 1
    answers.milliseconds.observe(milliseconds)
  }

  /** Counts one refusal, whether or not it could be sent. */
  countRefusal(error: number): void {
    this.#refusals.set(error, (this.#refusals.get(error) ?? 0) + 1)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /**
   * All metrics in the text format (https://prometheus.io/docs/instrumenting/exposition_formats/). Scrapes that come
   * together share one text.
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

  *#requests(): Generator<readonly [Labels, number]> {
    for (const [operation, { byStatus }] of this.#answers) {
      for (const [status, count] of byStatus.entries()) if (count > 0) yield [{ operation, status }, count]
    }
  }
}

/** As the command line has it: `maxWaiting` is `max-waiting`. */
const flagOf = (setting: string): string => setting.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
