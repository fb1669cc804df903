import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentIn, randomId } from '../src/http/tracing/trace-context.ts'
import { tempFolder } from './support/files.ts'
import { startServer, TOKEN } from './support/process.ts'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code?: number }
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly scope: { readonly name: string }; readonly spans: readonly Span[] }[]
  }[]
}

/** Takes OTLP in JSON, as a collector does. */
class Collector {
  readonly spans: Span[] = []
  readonly headers: IncomingHttpHeaders[] = []
  resource: Readonly<Record<string, unknown>> = {}
  /** Statuses of the next answers; 200 after them. */
  readonly answers: number[] = []
  address = ''

  static async start(t: TestContext): Promise<Collector> {
    const collector = new Collector()
    const server = createServer(async (request, response) => {
      assert.deepEqual([request.method, request.url], ['POST', '/v1/traces'])
      const body = (await json(request)) as Export
      collector.headers.push(request.headers)
      const status = collector.answers.shift() ?? 200
      if (status === 200) collector.#take(body)
      response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    collector.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return collector
  }

  #take({ resourceSpans }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resource = valuesOf(resource.attributes)
      this.spans.push(...scopeSpans.flatMap(({ spans }) => spans))
    }
  }

  async has(spans: number): Promise<void> {
    while (this.spans.length < spans) await sleep(10)
  }
}

const valuesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))

async function startTraced(t: TestContext, collector: Collector, env: Record<string, string> = {}) {
  return startServer(t, tempFolder(t), ['--drain-window', '0s'], {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.address,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      PLANTSTORE_LOG_LEVEL: 'debug',
      ...env,
    },
  })
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

const create = (address: string, id: number, headers: Record<string, string> = {}) =>
  fetch(`${address}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers },
    body: `{"id":${id},"name":"a secret name"}`,
  })

suite('traces', () => {
  test('have a span for each request, in the trace of its client', async (t) => {
    const collector = await Collector.start(t)
    const { program, address } = await startTraced(t, collector, {
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=k%20y',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
    })
    const before = Date.now()
    const answer = await create(address, 1, { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=b' })
    assert.equal(answer.status, 200)
    await collector.has(1)
    const [span] = collector.spans
    assert.ok(span !== undefined)
    assert.deepEqual([span.traceId, span.parentSpanId, span.traceState], [TRACE, PARENT, 'a=b'])
    assert.match(span.spanId, /^[0-9a-f]{16}$/)
    assert.deepEqual([span.name, span.kind, span.status], ['POST /plants', 2, {}])
    const [start, end] = [span.startTimeUnixNano, span.endTimeUnixNano].map((time) => Number(BigInt(time) / 1_000_000n))
    assert.ok((start ?? 0) >= before - 1000 && (start ?? 0) <= (end ?? 0) && (end ?? 0) <= Date.now() + 1000)
    assert.deepEqual(valuesOf(span.attributes), {
      'http.request.method': 'POST',
      'http.route': '/plants',
      'http.response.status_code': 200,
      'url.path': '/plants',
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
      'client.address': '127.0.0.1',
      'plantstore.operation': 'createPlant',
      'plantstore.request_id': answer.headers.get('x-request-id'),
      'plantstore.token': 'configured',
    })
    assert.deepEqual(collector.resource, { 'service.name': 'plantstore', 'deployment.environment': 'test' })
    assert.equal(collector.headers[0]?.['api-key'], 'k y')
    await program.tells(new RegExp(`"trace":"${TRACE}"`))

    await fetch(`${address}/nowhere?secret`)
    await collector.has(2)
    const own = collector.spans[1]
    assert.equal(own?.name, 'GET')
    assert.match(own.traceId, /^(?!0+$)[0-9a-f]{32}$/)
    assert.notEqual(own.traceId, TRACE)
    assert.equal(own.parentSpanId, undefined)
    assert.doesNotMatch(JSON.stringify(collector.spans), /secret|only-for-tests/)
  })

  test('leave out requests that the client does not sample', async (t) => {
    const collector = await Collector.start(t)
    const { address } = await startTraced(t, collector)
    await create(address, 1, { traceparent: `00-${TRACE}-${PARENT}-00` })
    await create(address, 2)
    await collector.has(1)
    assert.notEqual(collector.spans[0]?.traceId, TRACE)
    assert.equal(collector.spans.length, 1)
  })

  test('are sent again if the collector is busy', async (t) => {
    const collector = await Collector.start(t)
    collector.answers.push(503)
    const { address } = await startTraced(t, collector)
    await create(address, 1)
    await collector.has(1)
    assert.equal(collector.headers.length, 2)
  })

  test('are sent before the service exits', async (t) => {
    const collector = await Collector.start(t)
    const { program, address } = await startTraced(t, collector, { OTEL_BSP_SCHEDULE_DELAY: '900000' })
    await create(address, 1)
    assert.equal(collector.headers.length, 0)
    program.signal('SIGTERM')
    const { code } = await program.outcome
    assert.deepEqual([code, collector.spans.length], [0, 1])
  })

  test('are dropped and counted while there is no collector, and no request fails', async (t) => {
    const collector = await Collector.start(t)
    collector.answers.push(...Array.from({ length: 100 }, () => 400))
    const { program, address } = await startTraced(t, collector, { OTEL_BSP_MAX_QUEUE_SIZE: '2' })
    for (let id = 0; id < 20; id++) assert.equal((await create(address, id)).status, 200)
    await program.tells(/"why":"it answered 400","msg":"the collector does not accept traces"/)
    const count = async () => {
      const answer = await fetch(`${address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
      return Number(/^plantstore_spans_dropped_total (\d+)$/m.exec(await answer.text())?.[1])
    }
    while ((await count()) < 20) await sleep(10)
    assert.equal(program.stderr.match(/does not accept traces/g)?.length, 1)
    assert.equal(collector.spans.length, 0)
  })
})

suite('traceparent', () => {
  const of = (traceparent: string) => parentIn({ traceparent })

  test('is continued if it is valid', () => {
    const parent = { traceId: TRACE, parentId: PARENT, state: undefined, isSampled: true }
    assert.deepEqual(of(`00-${TRACE}-${PARENT}-01`), parent)
    assert.deepEqual(of(`00-${TRACE}-${PARENT}-fe`), { ...parent, isSampled: false })
    assert.deepEqual(of(`01-${TRACE}-${PARENT}-01-more`), parent)
    assert.equal(parentIn({ traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=b' })?.state, 'a=b')
    assert.equal(parentIn({ traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'x'.repeat(513) })?.state, undefined)
  })

  test('counts as missing if it is invalid', () => {
    for (const wrong of [
      '',
      'nonsense',
      `00-${TRACE}-${PARENT}`,
      `ff-${TRACE}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01-more`,
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      `00-${TRACE.toUpperCase()}-${PARENT}-01`,
      ` 00-${TRACE}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    ]) {
      assert.equal(of(wrong), undefined, wrong)
    }
    assert.equal(parentIn({}), undefined)
  })

  test('gets a new id for each span', () => {
    const ids = Array.from({ length: 1000 }, (_, i) => randomId(i % 2 === 0 ? 8 : 16))
    assert.equal(new Set(ids).size, 1000)
    for (const [i, id] of ids.entries()) assert.equal(id.length, i % 2 === 0 ? 16 : 32)
  })
})
