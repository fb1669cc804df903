import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'

/** What the service counts, in Prometheus' terms (https://prometheus.io/docs/practices/naming/). */
export class Metrics {
  readonly registry = new Registry()
  readonly #requests: Counter<'operation' | 'status'>
  readonly #seconds: Histogram<'operation'>

  /** @param waiting creates that wait for their commit now */
  constructor(waiting: () => number) {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry })
    this.#requests = new Counter({
      name: 'plantstore_http_requests_total',
      help: 'Requests answered, by operation and status.',
      labelNames: ['operation', 'status'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'plantstore_http_request_seconds',
      help: 'From the end of the headers to the answer, in seconds.',
      labelNames: ['operation'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    })
    new Gauge({
      name: 'plantstore_creates_waiting',
      help: 'Creates that wait for their commit.',
      registers,
      collect() {
        this.set(waiting())
      },
    })
  }

  observe(operation: string, status: number, milliseconds: number): void {
    this.#requests.inc({ operation, status })
    this.#seconds.observe({ operation }, milliseconds / 1000)
  }
}
