import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashSecret, makeSecret, SCOPES } from '../../../src/domain/token.ts'
import { SqliteStore } from '../../../src/sqlite/store.ts'
import { tempFolder } from '../../support/files.ts'
import { send } from '../../support/load.ts'
import { isLinux, notTestedHere } from '../../support/not-tested.ts'
import { type Served, serveStore, TOKEN } from '../../support/process.ts'
import { RawConnection } from '../../support/raw.ts'
import { Scrape } from '../../support/scrape.ts'
import { token } from '../../token-suite.ts'

const CONNECTIONS = 1000
const TOKENS = 1000
const FIELDS = `Host: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`
const HELD = ['pipeline-limit', 'unread-limit', 'max-searches', 'search-queue', 'changes', 'change-queue']
/** Milliseconds, far more than a loaded machine needs. */
const PATIENCE = 40_000

/** All connections come from one address. No time-out releases what the service must release by itself. */
const FLAGS = ['--max-address-connections', '3000', '--stall-timeout', '5m', '--request-timeout', '5m']

/** Starts a service with many tokens, one of them for another client. */
async function startWithTokens(t: TestContext): Promise<Served & { readonly secret: string }> {
  const path = join(tempFolder(t), 'plants.db')
  const onFatal = (error: Error) => assert.fail(error)
  const store = await SqliteStore.open(path, { serving: true, create: true, maxWaiting: 10_000, onFatal })
  const secret = makeSecret()
  const others = Array.from({ length: TOKENS }, (_, i) => store.tokens.createToken(token('x'), hashSecret(String(i))))
  await Promise.all([store.tokens.createToken(token('x', { scopes: SCOPES }), hashSecret(secret)), ...others])
  await store.close()
  return { ...(await serveStore(t, `sqlite:${path}`, FLAGS)), secret }
}

/** Sends the bytes on many connections that read nothing and then close, while another client sends requests. */
async function flood({ address, secret }: Served & { readonly secret: string }, bytes: string): Promise<void> {
  const before = await metricsOf(address)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const connections = Array.from({ length: CONNECTIONS }, () => {
    const connection = new RawConnection(Number(new URL(address).port))
    connection.socket.pause()
    connection.write(bytes)
    return connection
  })
  let most = 0
  for (let round = 0; round < 2; round++) {
    for (const each of [{ agent }, {}]) {
      const sending = { ...each, token: secret }
      const asked = [
        send('POST', `${address}/plants`, { ...sending, body: `{"id":${-1 - round},"name":"x"}` }),
        send('GET', `${address}/tokens?limit=${TOKENS}`, sending),
        send('GET', `${address}/ids`, sending),
        send('POST', `${address}/ids`, { ...sending, body: '{"count":2}' }),
      ]
      assert.deepEqual(
        (await Promise.all(asked)).map(({ status }) => status),
        [200, 200, 200, 200],
      )
    }
    most = Math.max(most, (await metricsOf(address)).memory)
  }
  for (const { socket } of connections) socket.destroy()
  agent.destroy()
  const left = performance.now()
  for (;;) {
    const { connections: open, held } = await metricsOf(address)
    // The connections of fetch stay.
    if (open <= 5 && held === 0) break
    assert.ok(performance.now() - left < PATIENCE, `${open} connections, ${held} bytes or requests are still held`)
    await sleep(50)
  }
  assert.ok(most - before.memory < 400, `${most - before.memory} MiB more`)
}

async function metricsOf(address: string) {
  const response = await fetch(`${address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
  const metrics = new Scrape(await response.text())
  const used = (bound: string) => metrics.value('plantstore_bound_used', { bound }) ?? assert.fail(bound)
  return {
    memory: Math.round((metrics.value('process_resident_memory_bytes') ?? 0) / 2 ** 20),
    connections: used('max-connections'),
    held: HELD.reduce((sum, bound) => sum + used(bound), 0),
  }
}

const reservation = (length: number): string => `POST /ids HTTP/1.1\r\n${FIELDS}Content-Length: ${length}\r\n\r\n`

suite(`nothing leaks and another client is served while ${CONNECTIONS} connections read nothing and`, () => {
  test('list tokens, reserve ids, or leave in the middle of a body', async (t) => {
    if (!isLinux) return notTestedHere(t, 'the memory of another process, because only Linux tells it')
    const service = await startWithTokens(t)
    await flood(service, `GET /tokens?limit=${TOKENS} HTTP/1.1\r\n${FIELDS}\r\n`.repeat(5))
    await flood(service, `${reservation(15)}{"count":10000}`.repeat(5))
    await flood(service, `${reservation(16_000)}{"count":1${' '.repeat(8000)}`)
  })
})
