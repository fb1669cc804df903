import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from '@prometheus-io/client'
import { BOUNDS, type OperationTally, Tally } from './request-metrics.ts'

const SECONDS = 'plantstore_http_request_seconds'

/** What the service counts, in Prometheus' terms (https://prometheus.io/docs/practices/naming/). */
export class Metrics {
  readonly registry = new Registry()
  readonly #tally = new Tally()

  /** @param waiting creates that wait for their commit now */
  constructor(waiting: () => number) {
    const registers = [this.registry]
    const { operations } = this.#tally
    collectDefaultMetrics({ register: this.registry })
    new Counter({
      name: 'plantstore_http_requests_total',
      help: 'Requests answered, by operation and status.',
      labelNames: ['operation', 'status'],
      registers,
      collect() {
        this.reset()
        for (const [operation, { statuses }] of operations) {
          statuses.forEach((count, status) => {
            if (count > 0) this.inc({ operation, status }, count)
          })
        }
      },
    })
    this.registry.registerMetric(requestSeconds(operations))
    this.gauge('plantstore_creates_waiting', 'Creates that wait for their commit.', waiting)
  }

  /** @param read called whenever somebody asks for the metrics */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }

  /** @param read called whenever somebody asks for the metrics; gives what was counted since the start */
  counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }

  /** Counts one answer. `operation` is `none` where there was none. */
  observe(operation: string, status: number, milliseconds: number): void {
    this.#tally.add(operation, status, milliseconds)
  }
}

/** A histogram that the library has not counted itself, in the form in which its registry asks for one. */
function requestSeconds(operations: ReadonlyMap<string, OperationTally>): Metric<string> {
  const metric = {
    name: SECONDS,
    help: 'From the end of the headers to the answer, in seconds.',
    type: 'histogram',
    aggregator: 'sum',
    reset: () => {},
    get: async () => ({ ...metric, values: [...operations].flatMap(([operation, tally]) => series(operation, tally)) }),
  }
  return metric as unknown as Metric<string>
}

function series(operation: string, { buckets, milliseconds }: OperationTally): object[] {
  let count = 0
  const cumulative = [...buckets].map((answers, i) => {
    count += answers
    const bound = BOUNDS[i]
    const le = bound === undefined ? '+Inf' : bound / 1000
    return { metricName: `${SECONDS}_bucket`, labels: { le, operation }, value: count }
  })
  return [
    ...cumulative,
    { metricName: `${SECONDS}_sum`, labels: { operation }, value: milliseconds / 1000 },
    { metricName: `${SECONDS}_count`, labels: { operation }, value: count },
  ]
}
