import assert from 'node:assert/strict'
import { EventEmitter, on, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { suite, type TestContext, test } from 'node:test'
import { tempFolder } from '../support/files.ts'
import { startServer, TOKEN } from '../support/process.ts'

interface Span {
  readonly traceId: string
  readonly parentSpanId?: string
  readonly kind: number
  readonly attributes: readonly { readonly key: string; readonly value: { readonly intValue?: number } }[]
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}

/** SPAN_KIND_SERVER of opentelemetry/proto/trace/v1/trace.proto. */
const SERVER = 2
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

/** Starts a collector, which takes OTLP in JSON and emits each span as `span`. */
async function startCollector(t: TestContext) {
  const spans = new EventEmitter()
  const server = createServer(async (request, response) => {
    const { resourceSpans = [] } = (await json(request)) as Export
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    for (const { scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) spans.emit('span', span)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { spans, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const create = (address: string, id: number, traceparent?: string) =>
  fetch(`${address}/plants`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${TOKEN}`,
      'Content-Type': 'application/json',
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    body: `{"id":${id},"name":"Fern"}`,
  })

test("OpenTelemetry's own instrumentation makes a span of each request, in the trace of its client", async (t) => {
  const { spans, address: collector } = await startCollector(t)
  const made = on(spans, 'span', { signal: t.signal })
  const { address } = await startServer(t, tempFolder(t), [], {
    env: {
      NODE_OPTIONS: '--import @opentelemetry/auto-instrumentations-node/register',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_NODE_ENABLED_INSTRUMENTATIONS: 'http',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
  })
  assert.equal((await create(address, 1, `00-${TRACE}-${PARENT}-01`)).status, 200)
  assert.equal((await create(address, 2)).status, 200)
  assert.equal((await create(address, 2, 'nonsense')).status, 200)
  const requests: Span[] = []
  for await (const [span] of made as AsyncIterable<[Span]>) {
    if (span.kind === SERVER) requests.push(span)
    if (requests.length === 3) break
  }
  const inTrace = requests.filter(({ traceId }) => traceId === TRACE)
  const parentSpanIds = inTrace.map(({ parentSpanId }) => parentSpanId)
  assert.deepEqual(parentSpanIds, [PARENT])
  assert.equal(new Set(requests.map(({ traceId }) => traceId)).size, 3, 'each other request begins a trace')
  for (const { attributes } of requests) {
    const status = attributes.find(({ key }) => /status_code$/.test(key))
    assert.equal(Number(status?.value.intValue), 200)
  }
})

suite('the log has the id of the trace', () => {
  /** The trace in the line of a request with this header. */
  async function tracesOf(t: TestContext, headers: readonly string[]): Promise<(string | undefined)[]> {
    const { program, address } = await startServer(t, tempFolder(t), [], { env: { PLANTSTORE_LOG_LEVEL: 'debug' } })
    for (const [id, header] of headers.entries()) assert.equal((await create(address, id, header)).status, 200)
    await create(address, -1)
    const { stderr } = await program.ends()
    const lines = stderr.split('\n').filter((line) => line.includes('"msg":"answered"'))
    return lines.map((line) => (JSON.parse(line) as { trace?: string }).trace)
  }

  test('of a valid traceparent', async (t) => {
    const valid = [`00-${TRACE}-${PARENT}-01`, `00-${TRACE}-${PARENT}-fe`, `01-${TRACE}-${PARENT}-01-more`]
    assert.deepEqual(await tracesOf(t, valid), [TRACE, TRACE, TRACE, undefined])
  })

  test('never of an invalid one', async (t) => {
    const invalid = [
      'nonsense',
      `00-${TRACE}-${PARENT}`,
      `ff-${TRACE}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01-more`,
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      `00-${TRACE.toUpperCase()}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    ]
    const expected = Array.from({ length: invalid.length + 1 }, () => undefined)
    assert.deepEqual(await tracesOf(t, invalid), expected)
  })
})
