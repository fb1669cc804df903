import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { before, suite, type TestContext, test } from 'node:test'
import { setDefaultCACertificates } from 'node:tls'
import { parse } from 'yaml'
import { ERRORS } from '../../src/domain/errors.ts'
import { BOUNDS, METRICS } from '../../src/http/metrics/catalog.ts'
import { readContract } from '../../src/http/request/operations.ts'
import { readConfig } from '../../src/settings/config.ts'
import { makeCertificate } from '../support/certificates.ts'
import { tempFolder } from '../support/files.ts'
import { importRows } from '../support/full-plants.ts'
import { send } from '../support/load.ts'
import { newDatabase } from '../support/postgres.ts'
import { run, startServer, TOKEN } from '../support/process.ts'
import { raw } from '../support/raw.ts'
import { Scrape } from '../support/scrape.ts'
import { plant } from '../support/store-under-test.ts'
import { writePair } from '../support/transport.ts'
import { happens, until } from '../support/until.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Starts a service with a port for monitors, whose address is `monitors`. */
async function startMonitored(t: TestContext, args: readonly string[], env: Record<string, string> = {}) {
  const { program, address } = await startServer(t, tempFolder(t), ['--metrics-port', '0', ...args], { env })
  const monitors = /^ {2}Metrics {2}(http:\S+)\/metrics$/m.exec(program.stdout)?.[1] ?? assert.fail(program.stdout)
  return { program, address, monitors }
}

/** Asks the port for monitors, without a token. */
const ask = async (address: string, path: string) => {
  const response = await fetch(address + path)
  return { status: response.status, body: await response.text() }
}

/** Sends a request line over TCP: the recorder would hold answers against the contract of the main port. */
const askRaw = (address: string, line: string, host = 'localhost'): Promise<string> => {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  return text(socket)
}

const settled = async (address: string, isSettled: (now: Scrape) => boolean): Promise<Scrape> => {
  let now: Scrape | undefined
  const hasSettled = async () => {
    now = new Scrape((await ask(address, '/metrics')).body)
    return isSettled(now)
  }
  await until(hasSettled, 'the metrics do not become as expected')
  return now ?? assert.fail()
}

const isCounted = (one: Scrape): boolean => !Number.isNaN(one.value('plantstore_plants') ?? Number.NaN)

/** The metrics of a SQLite service and of a PostgreSQL service after some requests. */
const scrapes: { sqlite?: Scrape; postgres?: Scrape } = {}
const both = (): Scrape[] => [scrapes.sqlite ?? assert.fail(), scrapes.postgres ?? assert.fail()]

suite('the metrics', () => {
  test('of a SQLite store count requests, commits and plants', async (t) => {
    const backups = ['--backup-every', '1m', '--backup-folder', tempFolder(t), '--backup-hook', process.execPath]
    const { authority, ...pair } = await makeCertificate()
    setDefaultCACertificates([authority])
    const { address, monitors } = await startMonitored(t, [...backups, ...writePair(tempFolder(t), pair)])
    for (const id of [1, 2, 3]) await send('POST', `${address}/plants`, { body: `{"id":${id},"name":"a"}` })
    await send('POST', `${address}/plants`, { body: '{"id":1,"name":"another"}' })
    await send('PUT', `${address}/plants/1`, { body: '{"name":"b"}' })
    await importRows(address, [plant(8n), plant(9n)])
    for (const path of ['/such', '/a?secret', '/plants/x']) await send('GET', address + path)
    const now = await settled(monitors, isCounted)
    scrapes.sqlite = now
    const value = (name: string, labels = {}) => now.value(name, labels)
    assert.equal(value('plantstore_plants'), 5)
    assert.equal(value('plantstore_http_requests_total', { operation: 'createPlant', status: '200' }), 3)
    assert.equal(value('plantstore_http_requests_total', { operation: 'none', status: '404' }), 2)
    assert.equal(value('plantstore_http_request_seconds_count', { operation: 'createPlant' }), 4)
    assert.equal(value('plantstore_refusals_total', { error: '40901' }), 1)
    assert.equal(value('plantstore_refusals_total', { error: '40401' }), 2)
    for (const [work, rows] of Object.entries({ create: 4, change: 1, import: 2 })) {
      assert.equal(value('plantstore_commit_rows_sum', { work }), rows, work)
      const commits = value('plantstore_commit_rows_count', { work })
      assert.equal(value('plantstore_commit_seconds_count', { work }), commits)
      assert.equal(value('plantstore_commit_failures_total', { work }), 0)
    }
    assert.ok((value('plantstore_store_bytes') ?? 0) > 0)
    const daysLeft = (value('plantstore_tls_certificate_expiry_seconds') ?? 0) / 86_400
    assert.ok(daysLeft > 89.9 && daysLeft < 90.1, `${daysLeft}`)
  })

  test('of a PostgreSQL store count the same, and connections in use', async (t) => {
    const { address, monitors } = await startMonitored(t, [], { PLANTSTORE_STORE: await newDatabase(t) })
    await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
    const now = await settled(monitors, isCounted)
    scrapes.postgres = now
    assert.equal(now.value('plantstore_plants'), 1)
    assert.equal(now.value('plantstore_commit_rows_sum', { work: 'create' }), 1)
    assert.equal(now.value('plantstore_store_connections_limit', { work: 'all' }), 10)
    assert.equal(now.value('plantstore_bound_limit', { bound: 'store-connections' }), 10)
  })

  test('are those of the catalog, which makes docs/reference/metrics.md', () => {
    const page = read('docs/reference/metrics.md')
    const found = new Map(both().flatMap(({ types }) => [...types]))
    for (const [name, { type }] of Object.entries(METRICS)) {
      assert.equal(found.get(name), type, name)
      assert.ok(page.includes(`| \`${name}\` `), name)
    }
    for (const name of found.keys()) assert.ok(name in METRICS || /^(?:nodejs|process)_/.test(name), name)
    for (const name of [...page.matchAll(/`((?:nodejs|process)_\w+)`/g)].map(([, name = '']) => name)) {
      assert.ok(scrapes.sqlite?.types.has(name), name)
    }
  })

  test('have no label whose value comes from a client', () => {
    const operations = new Set([...readContract().operations.map(({ id }) => id), 'none'])
    for (const { name, labels } of both().flatMap(({ samples }) => samples)) {
      const { operation = 'none', status = '200', error = '40001' } = labels
      assert.ok(operations.has(operation), `${name} ${operation}`)
      assert.match(status, /^[1-5]\d\d$/, name)
      assert.ok(error in ERRORS, `${name} ${error}`)
    }
    for (const { text, samples } of both()) {
      assert.doesNotMatch(text, /secret|such|another/)
      assert.ok(samples.length < 600, `${samples.length} samples`)
    }
  })

  test('show every bound as configured', () => {
    const flags = Object.keys(BOUNDS).map((name) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`))
    const samples = both().flatMap((one) => one.samples)
    const boundsOf = (metric: string) =>
      new Set(samples.filter(({ name }) => name === metric).map(({ labels }) => labels['bound']))
    assert.deepEqual(boundsOf('plantstore_bound_used'), new Set(flags))
    assert.deepEqual(boundsOf('plantstore_bound_limit'), new Set(flags))
    const { maxWaiting, searchQueue } = readConfig({}, {})
    const limitOf = (bound: string) => scrapes.sqlite?.value('plantstore_bound_limit', { bound })
    assert.deepEqual([limitOf('max-waiting'), limitOf('search-queue')], [maxWaiting, searchQueue])
    for (const { name, value } of samples) if (name === 'plantstore_bound_limit') assert.ok(value > 0)
  })
})

suite('the port for monitors', () => {
  test('answers metrics and health without a token, and nothing else', async (t) => {
    const { address, monitors } = await startMonitored(t, [])
    assert.deepEqual(await ask(monitors, '/health/live'), { status: 200, body: '{"status":"live"}' })
    assert.deepEqual(await ask(monitors, '/health/ready'), { status: 200, body: '{"status":"ready"}' })
    assert.equal((await ask(monitors, '/metrics')).status, 200)
    for (const path of ['/plants', '/plants/1', '/tokens', '/openapi.json', '/docs', '/']) {
      const said = await askRaw(monitors, `GET ${path}`)
      assert.match(said, /^HTTP\/1\.1 404 /, path)
      assert.ok(said.endsWith('"there is no such path; this port has /metrics, /health/live and /health/ready"}'), said)
    }
    assert.match(await askRaw(monitors, 'POST /metrics'), /^HTTP\/1\.1 405 /)
    const moved = await send('GET', `${address}/metrics`)
    assert.deepEqual([moved.status, moved.error], [404, 40401])
    assert.equal((await fetch(`${address}/metrics`)).status, 401)
    const status = await run(t, ['status', '--url', monitors], { env: { PLANTSTORE_TOKEN: TOKEN } })
    assert.match(status.stdout, /: ready\nversion {2}\d/)
  })

  test('on an address of this machine alone takes no Host that a page in its browser could lead there', async (t) => {
    const { monitors } = await startMonitored(t, [])
    const { port } = new URL(monitors)
    const statusFor = async (host: string, version = '1.1') => {
      const head = [`GET /metrics HTTP/${version}`, ...(host === '' ? [] : [`Host: ${host}`]), 'Connection: close']
      const [{ status } = assert.fail()] = await raw(Number(port), `${head.join('\r\n')}\r\n\r\n`)
      return status
    }
    for (const host of ['localhost', `127.0.0.1:${port}`, '[::1]', 'a.localhost', '10.0.0.7']) {
      assert.equal(await statusFor(host), 200, host)
    }
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.evil.example']) {
      assert.equal(await statusFor(host), 400, host)
    }
    assert.deepEqual([await statusFor('', '1.0'), await statusFor('')], [200, 400])
  })

  test('on other addresses takes any Host', async (t) => {
    const { monitors } = await startMonitored(t, ['--metrics-port', '0.0.0.0:0'])
    assert.match(await askRaw(monitors, 'GET /metrics', 'plants.example'), /^HTTP\/1\.1 200 /)
  })

  test('accepts 32 connections, and closes the oldest idle one for a new one', async (t) => {
    const { address, monitors } = await startMonitored(t, [])
    const { port } = new URL(monitors)
    let open = 0
    for (let i = 0; i < 40; i++) {
      const socket = connect(Number(port), '127.0.0.1')
      t.after(() => socket.destroy())
      open++
      socket.on('error', () => {}).once('close', () => open--)
      await happens(socket, 'connect', 'the service accepts no connection')
    }
    await until(() => open <= 32, 'the service accepts more connections')
    assert.equal((await ask(monitors, '/metrics')).status, 200)
    assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  })
})

suite('the alerts and the dashboard in monitoring/', () => {
  interface Rule {
    readonly alert: string
    readonly expr: string
    readonly labels: { readonly severity: string }
    readonly annotations: { readonly summary: string }
  }
  const { groups } = parse(read('monitoring/alerts.yml')) as { groups: { rules: Rule[] }[] }
  const rules = groups.flatMap((group) => group.rules)
  interface Panel {
    readonly id: number
    readonly title: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly targets: readonly { readonly expr: string }[]
  }
  const dashboard = JSON.parse(read('monitoring/dashboard.json')) as { panels: Panel[] }

  const known = new Set<string>()
  before(() => {
    for (const { names } of both()) for (const name of names) known.add(name)
    // These have a sample for each webhook.
    for (const name of Object.keys(METRICS)) if (name.startsWith('plantstore_webhook_')) known.add(name)
  })
  /** Returns the names of metrics in an expression, but none in its strings. */
  const metricsIn = (expression: string): string[] =>
    expression.replaceAll(/"[^"]*"/g, '').match(/\b(?:plantstore|nodejs|process)_\w+/g) ?? []

  test('use only metrics of the service', () => {
    const expressions = [
      ...rules.map(({ expr }) => expr),
      ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ]
    assert.ok(expressions.length > 30, 'there are some')
    for (const expression of expressions) {
      const names = metricsIn(expression)
      assert.ok(names.length > 0 || expression.startsWith('up{'), expression)
      for (const name of names) assert.ok(known.has(name), `${name} in ${expression}`)
    }
  })

  test('agree with the guide: each alert has a heading there, and each heading an alert', () => {
    const guide = read('docs/guides/monitoring.md')
    const headings = [...guide.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading)
    const expected = rules.map(({ alert }) => alert)
    assert.deepEqual(headings, expected)
    for (const { labels, annotations } of rules) {
      assert.match(labels.severity, /^(?:warning|critical)$/)
      assert.match(annotations.summary, /\$labels\.instance/)
    }
  })

  test('have no overlapping panels', () => {
    const ids = new Set(dashboard.panels.map(({ id }) => id))
    const places = new Set(dashboard.panels.map(({ gridPos: { x, y } }) => `${x} ${y}`))
    assert.deepEqual([ids.size, places.size], [dashboard.panels.length, dashboard.panels.length])
  })
})
