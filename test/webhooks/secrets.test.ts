import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { WebhookWithSecret } from '../../client/src/contract.generated.ts'
import { cleanUp } from '../support/clean-up.ts'
import { tempFolder } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import { send as sendTo } from '../support/load.ts'
import { startServer } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { errorOf, messageOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { KEY, withKey } from '../support/tokens.ts'
import { until } from '../support/until.ts'
import {
  createdWebhook,
  createWebhook,
  LOCAL,
  patchWebhook,
  startWebhook,
  untilReceived,
  verify,
  webhookOf,
} from '../support/webhooks.ts'

onEmpty('a webhook gets a new secret, and signs by both until the end of the overlap', LOCAL, async (service, t) => {
  const { id, secret: old, receiver } = await startWebhook(service, t)
  const rotate = async (body: unknown, key?: string) => {
    const answer = await service.sendJson('POST', `/webhooks/${id}/secret`, body, key === undefined ? {} : withKey(key))
    assert.equal(answer.status, 200, answer.body)
    return answer.json as WebhookWithSecret
  }
  const { secret: fresh, previousSecretUntil } = await rotate({ overlapSeconds: 60 }, KEY)
  assert.ok(Date.parse(previousSecretUntil ?? '') > Date.now())
  assert.equal((await rotate({ overlapSeconds: 60 }, KEY)).secret, fresh, 'a retry rotates once')
  await service.send('POST', `/webhooks/${id}/test`)
  const verifyLast = (secret: string) => verify(receiver.received.at(-1) ?? assert.fail(), secret)
  for (const secret of [old, fresh]) verifyLast(secret)
  const { secret: third } = await rotate({ overlapSeconds: 60 })
  assert.equal((await rotate({ overlapSeconds: 0 }, KEY)).secret, fresh, 'a late retry rotates nothing back')
  await service.send('POST', `/webhooks/${id}/test`)
  for (const secret of [fresh, third]) verifyLast(secret)
  assert.throws(() => verifyLast(old))
  const { secret: last, previousSecretUntil: none } = await rotate({ overlapSeconds: 0 })
  assert.equal(none, undefined)
  await service.send('POST', `/webhooks/${id}/test`)
  verifyLast(last)
  for (const secret of [fresh, third]) assert.throws(() => verifyLast(secret))
  const keys = ['a', 'b', 'c'].map((letter) => letter.repeat(20))
  for (const key of keys) await rotate({ overlapSeconds: 0 }, key)
  const before = await webhookOf(service, id)
  for (const key of [KEY, ...keys.slice(0, -1)]) {
    const late = await service.sendJson('POST', `/webhooks/${id}/secret`, { overlapSeconds: 0 }, withKey(key))
    assert.equal(errorOf(late), 40902, 'a late retry brings back no secret that was replaced')
  }
  const { secret: newest, ...after } = await rotate({ overlapSeconds: 0 }, keys.at(-1))
  assert.deepEqual(after, before)
  await service.send('POST', `/webhooks/${id}/test`)
  verifyLast(newest)
  assert.equal((await service.send('POST', `/webhooks/${id}/secret`)).status, 200, 'no body is as good as {}')
  for (const overlapSeconds of [-1, 604_801, 1.5, '1']) {
    assert.equal(errorOf(await service.sendJson('POST', `/webhooks/${id}/secret`, { overlapSeconds })), 40002)
  }
})

const HEADER = 'Basic dW5rbm93bjpwYXNz'

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
  const send = async (method: string, path: string, body = '') => {
    const answer = await sendTo(method, `${address}${path}`, { body })
    assert.ok([200, 201].includes(answer.status), `${method} ${path}: ${answer.body}`)
    return answer.body
  }
  const made = JSON.parse(
    await send('POST', '/webhooks', `{"url":"${receiver.url}","headers":{"X-Key":"${HEADER}"}}`),
  ) as WebhookWithSecret
  const { id, secret } = made
  const rotated = JSON.parse(await send('POST', `/webhooks/${id}/secret`, '{"overlapSeconds":60}')) as WebhookWithSecret
  await send('POST', '/plants', '{"id":1,"name":"Fern"}')
  await until(() => receiver.received.length === 1, 'nothing is delivered')
  assert.equal(receiver.received[0]?.headers['x-key'], HEADER)
  const base64 = Buffer.from(HEADER).toString('base64')
  const echoed = [HEADER, encodeURIComponent(HEADER), base64, HEADER.slice(0, 12), HEADER.toUpperCase()]
  receiver.respond = (response) => response.writeHead(500).end(`bad key ${echoed.join(', ')}`)
  await send('POST', '/plants', '{"id":2,"name":"Moss"}')
  await until(() => receiver.received.length === 2, 'nothing is delivered')
  answers.push(await send('PATCH', `/webhooks/${id}`, '{"description":"the same"}'))
  answers.push(await send('POST', `/webhooks/${id}/test`))
  for (const path of ['', `/${id}`, `/${id}/deliveries`]) answers.push(await send('GET', `/webhooks${path}`))
  for (const path of ['/metrics', '/changes', '/tokens']) answers.push(await send('GET', path))
  await until(() => traces.join('').includes('/deliveries'), 'nothing is traced')
  const { stdout, stderr } = await program.ends()
  assert.ok(stderr.includes(id), 'the audit log names the webhook')
  const forms = [...echoed, HEADER.slice(0, 8)].map((form) => `whsec_${form}`)
  for (const each of [secret, rotated.secret, ...forms]) {
    const bare = each.slice('whsec_'.length)
    for (const seen of [...answers, ...traces, stdout, stderr]) assert.ok(!seen.includes(bare), seen.slice(0, 500))
  }
})

onEmpty('a webhook sends the headers of its receiver, and answers their names alone', LOCAL, async (service, t) => {
  const headers = { Authorization: 'Bearer one two', 'x-Garden': '!' }
  const { id, headerNames, receiver, ...rest } = await startWebhook(service, t, { headers })
  assert.deepEqual(headerNames, ['Authorization', 'x-Garden'])
  assert.ok(!JSON.stringify(rest).includes('one two'))
  await service.sendJson('POST', '/plants', { id: 1, name: 'Fern' })
  await untilReceived(receiver, 1)
  const sent = receiver.received[0]?.headers ?? {}
  assert.deepEqual(
    [sent.authorization, sent['x-garden'], sent['content-type']],
    ['Bearer one two', '!', 'application/json'],
  )
  assert.ok(sent['webhook-signature'])

  const changed = await patchWebhook(service, id, { headers: { AUTHORIZATION: null, 'X-GARDEN': '2', 'X-New': 'n' } })
  assert.deepEqual((changed.json as { headerNames: string[] }).headerNames, ['X-GARDEN', 'X-New'])
  await service.sendJson('POST', `/webhooks/${id}/secret`, { overlapSeconds: 0 })
  await service.sendJson('POST', `/webhooks/${id}/test`, {})
  await untilReceived(receiver, 2)
  const later = receiver.received[1]?.headers ?? {}
  assert.deepEqual([later.authorization, later['x-garden'], later['x-new']], [undefined, '2', 'n'])
})

onEmpty('another origin or path of a webhook gets no header that was given before', LOCAL, async (service, t) => {
  const [first, second] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await createdWebhook(service, { url: first.url, headers: { 'X-Key': 'secret', 'X-Other': 'b' } })
  const names = async () => (await webhookOf(service, id)).headerNames
  await patchWebhook(service, id, { url: new URL('?bed=7#there', first.url).href })
  assert.deepEqual(await names(), ['X-Key', 'X-Other'])
  await patchWebhook(service, id, { url: new URL('/other-path', first.url).href })
  assert.deepEqual(await names(), [])
  await patchWebhook(service, id, { url: first.url, headers: { 'X-Key': 'secret', 'X-Other': 'b' } })
  await patchWebhook(service, id, { url: second.url, headers: { 'X-Other': 'given again' } })
  assert.deepEqual((await webhookOf(service, id)).headerNames, ['X-Other'])
  await service.sendJson('POST', `/webhooks/${id}/test`, {})
  assert.deepEqual(
    [second.received[0]?.headers['x-key'], second.received[0]?.headers['x-other']],
    [undefined, 'given again'],
  )
  await patchWebhook(service, id, { headers: null })
  assert.deepEqual((await webhookOf(service, id)).headerNames, [])
})

onEmpty('a key repeats the creation of a webhook with the same headers alone', LOCAL, async (service) => {
  const url = 'http://127.0.0.1:9/'
  const sending = { headers: { 'Idempotency-Key': 'a-key-of-twenty-characters' } }
  const { id } = await createdWebhook(service, { url, headers: { A: '1' } }, sending)
  assert.equal((await createdWebhook(service, { url, headers: { A: '1' } }, sending)).id, id)
  assert.equal(errorOf(await createWebhook(service, { url, headers: { A: '2' } }, sending)), 40902)
})

/** Headers that are the service's own. */
const OWN =
  'Host content-LENGTH Content-Type Content-Encoding Transfer-Encoding TE Trailer Upgrade Connection Keep-Alive'
const MORE = 'Proxy-Authorization Expect User-Agent Webhook-Id Plantstore-Type'
const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`X-${i}`, 'x']))
for (const [what, headers, fault] of [
  ['a list', [], /headers must be an object/],
  ['a text', 'A: b', /headers must be an object/],
  ['eleven', many, /headers must be at most 10/],
  ['a name twice', { A: '1', a: '2' }, /headers must not have a name twice/],
  [
    'several faults',
    { A: '', a: '2', Host: 'x' },
    /name twice; .*; headers must have names .*; headers must have values/,
  ],
  ...`${OWN} ${MORE}`
    .split(' ')
    .map((name) => [name, { [name]: 'x' }, /headers must have names that are tokens/] as const),
  ...['', 'a b', 'a:', 'a\r\nB', 'ä', '('].map(
    (name) => [JSON.stringify(name), { [name]: 'x' }, /headers must have names/] as const,
  ),
  ...['', ' a', 'a ', 'a\r\nB: c', 'a\nb', 'a\0', 'ä', '\x7f', 'x'.repeat(2049), 7, null, {}].map(
    (value) => [`the value ${JSON.stringify(value).slice(0, 20)}`, { A: value }, /headers must have values/] as const,
  ),
] as const) {
  onEmpty(`a webhook is refused with headers of ${what}`, LOCAL, async (service) => {
    const answer = await createWebhook(service, { url: 'http://127.0.0.1:9/', headers })
    assert.equal(errorOf(answer), 40002)
    assert.match(messageOf(answer), fault)
    assert.ok(!/B: c/.test(messageOf(answer)), 'no message has a value')
  })
}

onEmpty('a change may not bring more than ten headers together', LOCAL, async (service) => {
  const { 'X-10': _, ...ten } = many
  const { id } = await createdWebhook(service, { url: 'http://127.0.0.1:9/', headers: ten })
  assert.equal(errorOf(await patchWebhook(service, id, { headers: { 'X-11': 'x' } })), 40002)
  assert.equal((await patchWebhook(service, id, { headers: { 'X-11': 'x', 'X-1': null } })).status, 200)
})
