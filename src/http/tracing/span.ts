/** A span of a trace, which stands for one request. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly state: string | undefined
  readonly name: string
  /** Milliseconds since 1970, with fractions. */
  readonly start: number
  readonly end: number
  readonly attributes: Attributes
  readonly isError: boolean
}

export type Attributes = Readonly<Record<string, string | number | undefined>>

/** Queues spans, and sends them to a collector. */
export interface SpanExporter {
  /** Queues a span, or drops it when the queue is full. Never waits. */
  add(span: Span): void
  /** Queued spans. */
  readonly waiting: number
  /** Spans sent since the start. */
  readonly exported: number
  /** Spans dropped since the start. */
  readonly dropped: number
}
