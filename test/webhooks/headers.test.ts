import assert from 'node:assert/strict'
import { startReceiver } from '../support/receiver.ts'
import { errorOf, messageOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { createdWebhook, createWebhook, LOCAL, patchWebhook, untilReceived, webhookOf } from '../support/webhooks.ts'

onEmpty('a webhook sends the headers of its receiver, and answers their names alone', LOCAL, async (service, t) => {
  const receiver = await startReceiver(t)
  const headers = { Authorization: 'Bearer one two', 'x-Garden': '!' }
  const { id, headerNames, ...rest } = await createdWebhook(service, { url: receiver.url, headers })
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

const OWN = [
  'Host',
  'content-LENGTH',
  'Content-Type',
  'Content-Encoding',
  'Transfer-Encoding',
  'TE',
  'Trailer',
  'Upgrade',
]
const MORE = [
  'Connection',
  'Keep-Alive',
  'Proxy-Authorization',
  'Expect',
  'User-Agent',
  'Webhook-Id',
  'Plantstore-Type',
]
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
  ...[...OWN, ...MORE].map((name) => [name, { [name]: 'x' }, /headers must have names that are tokens/] as const),
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
