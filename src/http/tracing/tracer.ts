import type { TracingConfig } from '../../tracing-config.ts'
import type { ClientAddresses } from '../auth/client-address.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { loggedPath } from '../response/refusal-log.ts'
import type { SpanExporter } from './span.ts'
import { parentIn, randomId, type TraceContext } from './trace-context.ts'

/**
 * Hexadecimal digits at the end of a trace id that decide about sampling. All services that do so decide alike
 * (https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/).
 */
const SAMPLED_DIGITS = 13
const SAMPLED_RANGE = 16 ** SAMPLED_DIGITS

/** Makes a span of each sampled request. */
export class Tracer {
  readonly #config: TracingConfig
  readonly #exporter: SpanExporter
  readonly #contexts = new WeakMap<Exchange, TraceContext>()

  constructor(config: TracingConfig, exporter: SpanExporter) {
    this.#config = config
    this.#exporter = exporter
  }

  /** Registers the metrics of spans. */
  describe(metrics: Metrics): void {
    metrics.value('plantstore_spans_exported_total', () => this.#exporter.exported)
    metrics.value('plantstore_spans_dropped_total', () => this.#exporter.dropped)
    metrics.bound('spanQueue', this.#config.queue, () => this.#exporter.waiting)
  }

  /** Returns the id of a request's trace, for its lines in the log. */
  traceIdOf(exchange: Exchange): string {
    return this.#contextOf(exchange).traceId
  }

  /**
   * Makes the span of a finished request, if it is sampled.
   *
   * @param requestId as in the answer and in the log
   */
  end(exchange: Exchange, status: number, requestId: string, addresses: ClientAddresses): void {
    const { traceId, spanId, parentId, state, isSampled } = this.#contextOf(exchange)
    if (!isSampled) return
    const { request, operation, identity, startedAt } = exchange
    const { method = '', url, headers, httpVersion, socket } = request
    const end = Date.now()
    this.#exporter.add({
      traceId,
      spanId,
      parentId,
      state,
      name: operation === undefined ? method : `${method} ${operation.path}`,
      start: end - (performance.now() - startedAt),
      end,
      attributes: {
        'http.request.method': method,
        'http.route': operation?.path,
        'http.response.status_code': status,
        'url.path': loggedPath(url),
        'url.scheme': 'http',
        'network.protocol.version': httpVersion,
        'client.address': addresses.of(socket.remoteAddress, headers),
        'error.type': status >= 500 ? String(status) : undefined,
        'plantstore.operation': operation?.id,
        'plantstore.request_id': requestId,
        'plantstore.token': identity?.actor.id,
      },
      isError: status >= 500,
    })
  }

  #contextOf(exchange: Exchange): TraceContext {
    const known = this.#contexts.get(exchange)
    if (known !== undefined) return known
    const context = this.#newContext(exchange)
    this.#contexts.set(exchange, context)
    return context
  }

  #newContext({ request }: Exchange): TraceContext {
    const { ratio, followsParent } = this.#config
    const parent = parentIn(request.headers)
    const traceId = parent?.traceId ?? randomId(16)
    const isChosen = Number.parseInt(traceId.slice(-SAMPLED_DIGITS), 16) < ratio * SAMPLED_RANGE
    return {
      traceId,
      spanId: randomId(8),
      parentId: parent?.parentId,
      state: parent?.state,
      isSampled: followsParent && parent !== undefined ? parent.isSampled : isChosen,
    }
  }
}
