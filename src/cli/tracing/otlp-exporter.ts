import { setTimeout as sleep } from 'node:timers/promises'
import type { Span, SpanExporter } from '../../http/tracing/span.ts'
import type { TracingConfig } from '../../tracing-config.ts'
import { otlpJson } from './otlp-json.ts'

/** Attempts to send a batch, and milliseconds between the first two attempts. Each further pause is twice as long. */
const ATTEMPTS = 4
const FIRST_PAUSE = 500
/** Statuses after which the exporter retries a batch (https://opentelemetry.io/docs/specs/otlp/#failures-1). */
const PASSING = [429, 502, 503, 504]

export interface ExporterOptions extends TracingConfig {
  readonly version: string
  /** Called with the reason when the collector does not accept spans, once per outage. */
  readonly onTrouble: (why: string) => void
}

/**
 * Sends spans to a collector by OTLP over HTTP, one batch at a time. While the collector is slow or out of reach, spans
 * wait in a bounded queue. The exporter drops and counts spans beyond the bound.
 */
export class OtlpExporter implements SpanExporter {
  readonly #options: ExporterOptions
  #queue: Span[] = []
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #isTroubled = false
  readonly #closing = new AbortController()
  exported = 0
  dropped = 0

  constructor(options: ExporterOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#queue.length
  }

  add(span: Span): void {
    const { queue, batch, delay } = this.#options
    if (this.#queue.length >= queue || this.#closing.signal.aborted) {
      this.dropped++
      return
    }
    this.#queue.push(span)
    if (this.#sending !== undefined) return
    if (this.#queue.length >= batch) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), delay).unref()
  }

  /** Sends the queued spans. Stops when the signal aborts, even between two attempts. */
  async close(signal: AbortSignal): Promise<void> {
    const giveUp = () => this.#closing.abort()
    signal.addEventListener('abort', giveUp)
    while (this.#queue.length > 0 && !signal.aborted) {
      this.#send()
      await this.#sending
    }
    await this.#sending
    signal.removeEventListener('abort', giveUp)
    giveUp()
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#queue.length === 0) return
    this.#sending ??= this.#sendBatch(this.#queue.splice(0, this.#options.batch)).finally(() => {
      this.#sending = undefined
      if (this.#queue.length >= this.#options.batch) this.#send()
      else if (this.#queue.length > 0) this.#timer = setTimeout(() => this.#send(), this.#options.delay).unref()
    })
  }

  async #sendBatch(spans: readonly Span[]): Promise<void> {
    const body = otlpJson(spans, this.#options.resource, this.#options.version)
    for (let attempt = 1, pause = FIRST_PAUSE; ; attempt++, pause *= 2) {
      const fault = await this.#post(body)
      if (fault === undefined) {
        this.exported += spans.length
        this.#isTroubled = false
        return
      }
      if (!this.#isTroubled) this.#options.onTrouble(fault.why)
      this.#isTroubled = true
      if (!fault.isPassing || attempt === ATTEMPTS || !(await this.#paused(pause))) break
    }
    this.dropped += spans.length
  }

  /** @returns false when the exporter closes, so that no further attempt may follow */
  #paused(milliseconds: number): Promise<boolean> {
    const { signal } = this.#closing
    return sleep(milliseconds, true, { signal, ref: false }).catch(() => false)
  }

  /** @returns the reason why the collector did not accept the batch; undefined when it did */
  async #post(body: string): Promise<{ why: string; isPassing: boolean } | undefined> {
    const { endpoint, headers, timeout } = this.#options
    const signal = AbortSignal.any([AbortSignal.timeout(timeout), this.#closing.signal])
    try {
      const answer = await fetch(endpoint, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body,
        signal,
        redirect: 'error',
      })
      await answer.body?.cancel()
      return answer.ok ? undefined : { why: `it answered ${answer.status}`, isPassing: PASSING.includes(answer.status) }
    } catch (error) {
      const { message, cause } = error as Error
      return { why: cause instanceof Error ? `${message}: ${cause.message}` : message, isPassing: true }
    }
  }
}
