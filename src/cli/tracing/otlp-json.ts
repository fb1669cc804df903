import type { Attributes, Span } from '../../http/tracing/span.ts'

/** SPAN_KIND_SERVER and STATUS_CODE_ERROR of opentelemetry/proto/trace/v1/trace.proto. */
const SERVER = 2
const ERROR = 2

/** Writes spans in OTLP's JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
export function otlpJson(spans: readonly Span[], resource: Attributes, version: string): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'plantstore', version }, spans: spans.map(spanJson) }],
      },
    ],
  })
}

const spanJson = ({ traceId, spanId, parentId, state, name, start, end, attributes, isError }: Span) => ({
  traceId,
  spanId,
  ...(parentId === undefined ? {} : { parentSpanId: parentId }),
  ...(state === undefined ? {} : { traceState: state }),
  name,
  kind: SERVER,
  startTimeUnixNano: nanoseconds(start),
  endTimeUnixNano: nanoseconds(end),
  attributes: attributesOf(attributes),
  status: isError ? { code: ERROR } : {},
})

/** Nanoseconds since 1970 as text. A double can't hold them exactly, so the text has microseconds and three zeros. */
const nanoseconds = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`

const attributesOf = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: anyValue(value) }]))

const anyValue = (value: string | number) =>
  typeof value === 'string' ? { stringValue: value } : { intValue: String(value) }
