/** A request as a span. */
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

/** Takes spans, and sends them to a collector. */
export interface SpanExporter {
  /** Never waits; drops the span where too many wait already. */
  add(span: Span): void
  /** Spans that wait, and how many were sent and dropped since the start. */
  readonly waiting: number
  readonly exported: number
  readonly dropped: number
}
