import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { WebhookWithSecret } from '../../client/src/contract.generated.ts'
import { cleanUp } from '../support/clean-up.ts'
import { tempFolder } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import { startServer, TOKEN } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'

const KEY = 'Basic dW5rbm93bjpwYXNz'

test('the secrets of a webhook are in one answer each, and in no log, audit line, trace or metric', async (t) => {
  const traces: string[] = []
  const collector = createServer(async (request, response) => {
    traces.push(await text(request))
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
  })
  const port = await freePort()
  collector.listen(port, '127.0.0.1')
  cleanUp(t, () => {
    collector.closeAllConnections()
    collector.close()
  })
  const receiver = await startReceiver(t)
  const { program, address } = await startServer(t, tempFolder(t), ['--webhook-allow', 'loopback'], {
    env: {
      PLANTSTORE_LOG_LEVEL: 'debug',
      NODE_OPTIONS: '--import @opentelemetry/auto-instrumentations-node/register',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
  })
  const answers: string[] = []
  const send = async (method: string, path: string, body?: string) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
    const init = body === undefined ? { method, headers } : { method, headers, body }
    const answer = await fetch(`${address}${path}`, init)
    const received = await answer.text()
    assert.ok(answer.ok, `${method} ${path}: ${received}`)
    return received
  }
  const made = JSON.parse(
    await send('POST', '/webhooks', `{"url":"${receiver.url}","headers":{"X-Key":"${KEY}"}}`),
  ) as WebhookWithSecret
  const { id, secret } = made
  const rotated = JSON.parse(await send('POST', `/webhooks/${id}/secret`, '{"overlapSeconds":60}')) as WebhookWithSecret
  await send('POST', '/plants', '{"id":1,"name":"Fern"}')
  await until(() => receiver.received.length === 1, 'nothing is delivered')
  assert.equal(receiver.received[0]?.headers['x-key'], KEY)
  const echoed = [
    KEY,
    encodeURIComponent(KEY),
    Buffer.from(KEY).toString('base64'),
    KEY.slice(0, 12),
    KEY.toUpperCase(),
  ]
  receiver.respond = (response) => response.writeHead(500).end(`bad key ${echoed.join(', ')}`)
  await send('POST', '/plants', '{"id":2,"name":"Moss"}')
  await until(() => receiver.received.length === 2, 'nothing is delivered')
  answers.push(await send('PATCH', `/webhooks/${id}`, '{"description":"the same"}'))
  answers.push(await send('POST', `/webhooks/${id}/test`))
  for (const path of ['', `/${id}`, `/${id}/deliveries`]) answers.push(await send('GET', `/webhooks${path}`))
  for (const path of ['/metrics', '/changes', '/tokens']) answers.push(await send('GET', path))
  await until(() => traces.join('').includes('/deliveries'), 'nothing is traced')
  program.signal('SIGTERM')
  const { stdout, stderr } = await program.outcome
  assert.ok(stderr.includes(id), 'the audit log names the webhook')
  const forms = [...echoed, KEY.slice(0, 8)].map((form) => `whsec_${form}`)
  for (const each of [secret, rotated.secret, ...forms]) {
    const bare = each.slice('whsec_'.length)
    for (const seen of [...answers, ...traces, stdout, stderr]) assert.ok(!seen.includes(bare), seen.slice(0, 500))
  }
})
