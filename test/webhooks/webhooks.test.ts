import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { openStream } from '../support/event-stream.ts'
import { OK, type Respond, startReceiver } from '../support/receiver.ts'
import { errorOf, SECRET } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { as, KEY, withKey } from '../support/tokens.ts'
import { until } from '../support/until.ts'
import {
  createdWebhook,
  createWebhook,
  deliveriesOf,
  LOCAL,
  patchWebhook,
  startWebhook,
  untilListed,
  untilReceived,
  verify,
  webhookOf,
} from '../support/webhooks.ts'

const EXTERNAL = { ...LOCAL, webhookAllow: 'external' }
const SHORT: Respond = (response) => response.writeHead(418).end('short')
const URL = 'https://hooks.garden.example/plants'

suite('creating a webhook', () => {
  onEmpty('answers it with its secret, which no other answer has', EXTERNAL, async (service) => {
    const { secret, ...created } = await createdWebhook(service, { url: URL })
    assert.match(secret, /^whsec_[0-9A-Za-z+/]{43}=$/)
    const { id, createdAt, since, position, ...rest } = created
    assert.match(id, /^whk_[0-9A-Za-z]{11}$/)
    assert.equal(since, createdAt)
    assert.match(position, /^[A-Za-z0-9_-]{1,64}$/)
    assert.deepEqual(rest, {
      url: URL,
      types: [],
      tags: [],
      untagged: false,
      body: 'event',
      concurrency: 8,
      headerNames: [],
      creator: 'configured',
      state: 'active',
      pending: 0,
    })
    assert.deepEqual(await webhookOf(service, id), created)
    assert.deepEqual((await service.send('GET', '/webhooks')).json, [created])
  })

  onEmpty('takes all members, and keeps the URL in one spelling', LOCAL, async (service) => {
    const wanted = {
      types: ['plant.deleted', 'plant.created'],
      tags: ['fern', '', 'fern'],
      description: 'labels 🌿',
      body: 'plant',
      concurrency: 32,
    }
    const created = await createdWebhook(service, { url: 'http://127.1:80/a?b#c', ...wanted })
    assert.equal(created.url, 'http://127.0.0.1/a?b')
    assert.deepEqual(created.types, ['plant.created', 'plant.deleted'])
    assert.deepEqual(created.tags, ['fern', ''])
    assert.equal(created.description, wanted.description)
    assert.deepEqual([created.body, created.concurrency], ['plant', 32])
  })

  onEmpty('is refused for each wrong member, and nothing is created', EXTERNAL, async (service) => {
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [{}, /url is required/],
      [{ url: 7 }, /url must be a URL/],
      [{ url: 'hooks.garden.example' }, /url must be a URL/],
      [{ url: `https://a.example/${'a'.repeat(2048)}` }, /at most 2048 characters/],
      [{ url: 'http://hooks.garden.example/' }, /url must begin with https/],
      [{ url: 'https://kew:secret@hooks.garden.example/' }, /user name or password/],
      [{ url: 'https://localhost./' }, /--webhook-allow/],
      [{ url: 'https://169.254.169.254/' }, /--webhook-allow/],
      [{ url: 'https://[::127.0.0.1]/' }, /--webhook-allow/],
      [{ url: URL, types: ['plant.moved'] }, /types must be an array with some of plant.created/],
      [{ url: URL, types: 'plant.created' }, /types must be an array/],
      [{ url: URL, tags: [1] }, /tags must be an array/],
      [{ url: URL, tags: ['\0'] }, /tags must be an array/],
      [{ url: URL, tagPrefix: '' }, /tagPrefix must be a string of 1 to 200 characters/],
      [{ url: URL, tagPrefix: null }, /tagPrefix must be a string/],
      [{ url: URL, tagPrefix: 'x'.repeat(201) }, /tagPrefix must be a string/],
      [{ url: URL, untagged: 'true' }, /untagged must be true or false/],
      [{ url: URL, tags: ['a'], tagPrefix: 'a' }, /tags, tagPrefix and untagged exclude each other/],
      [{ url: URL, tagPrefix: 'a', untagged: true }, /tags, tagPrefix and untagged exclude each other/],
      [{ url: 7, tagPrefix: 'a', untagged: true }, /url must be a URL.*; tags, tagPrefix and untagged exclude/],
      [{ url: URL, tags: ['x'.repeat(201)] }, /tags must be an array .* at most 200 characters/],
      [{ url: URL, tags: new Array(101).fill('a') }, /at most 100/],
      [{ url: URL, description: '' }, /description must have 1 to 100 characters/],
      [{ url: URL, description: 'a\u202eb' }, /description must not contain/],
      [{ url: URL, body: 'both' }, /body must be one of event, plant/],
      [{ url: URL, concurrency: 0 }, /concurrency must be an integer from 1 to 32/],
      [{ url: URL, concurrency: 33 }, /concurrency/],
      [{ url: URL, concurrency: '8' }, /concurrency/],
      [{ url: URL, secret: 'whsec_x' }, /unknown member secret/],
      [{ url: 'ftp://a', types: 1, tags: 1, body: 1, concurrency: 1.5 }, /url.*concurrency|concurrency.*url/],
    ]
    for (const [body, message] of cases) {
      const answer = await createWebhook(service, body)
      assert.equal(errorOf(answer), 40002, answer.body)
      assert.match(answer.body, message)
    }
    assert.equal(errorOf(await createWebhook(service, '[')), 40001)
    assert.equal(errorOf(await createWebhook(service, '[]')), 40002)
    assert.equal(errorOf(await createWebhook(service, { url: 'a'.repeat(20_000) })), 41301)
    assert.deepEqual((await service.send('GET', '/webhooks')).json, [])
  })

  onEmpty('needs plants:read as well', EXTERNAL, async (service) => {
    const alone = await service.issueToken(['webhooks'])
    const both = await service.issueToken(['webhooks', 'plants:read'])
    const reader = await service.issueToken(['plants:read'])
    for (const { secret } of [alone, reader]) {
      assert.equal(errorOf(await createWebhook(service, { url: URL }, as(secret))), 40301)
    }
    const { id, creator } = await createdWebhook(service, { url: URL }, as(both.secret))
    assert.equal(creator, both.token.id)
    const change = (path: string, body: unknown, method = 'POST') =>
      service.sendJson(method, `/webhooks/${id}${path}`, body, as(alone.secret))
    assert.equal(errorOf(await change('', { concurrency: 2 }, 'PATCH')), 40301)
    assert.equal(errorOf(await change('/secret', {})), 40301)
    assert.equal(errorOf(await change('/redeliver', { after: 'now' })), 40301)
    assert.equal((await service.send('GET', `/webhooks/${id}`, as(alone.secret))).status, 200)
    assert.equal((await service.send('DELETE', `/webhooks/${id}`, as(alone.secret))).status, 204)
  })

  onEmpty('under an idempotency key happens once, with the same secret', EXTERNAL, async (service) => {
    const first = await createdWebhook(service, { url: URL }, withKey(KEY))
    assert.deepEqual(await createdWebhook(service, { url: URL }, withKey(`"${KEY}"`)), first)
    assert.equal(errorOf(await createWebhook(service, { url: `${URL}2` }, withKey(KEY))), 40902)
    const others = await service.issueToken(['webhooks', 'plants:read'])
    const { headers } = withKey(KEY)
    const other = await createdWebhook(service, { url: URL }, { ...as(others.secret), headers: headers ?? {} })
    assert.notEqual(other.id, first.id)
    assert.notEqual(other.secret, first.secret)
  })

  onEmpty('stops at 100 webhooks', EXTERNAL, async (service) => {
    const ids: string[] = []
    for (let i = 0; i < 100; i++) ids.push((await createdWebhook(service, { url: `${URL}/${i}` })).id)
    assert.equal(errorOf(await createWebhook(service, { url: URL })), 40906)
    assert.equal((await service.send('DELETE', `/webhooks/${ids[0]}`)).status, 204)
    await createdWebhook(service, { url: URL })
  })
})

suite('a webhook', () => {
  onEmpty('that does not exist is 40402 for every operation, and a wrong id is 40003', EXTERNAL, async (service) => {
    const all = (id: string) => [
      service.send('GET', `/webhooks/${id}`),
      service.send('DELETE', `/webhooks/${id}`),
      patchWebhook(service, id, { concurrency: 1 }),
      service.send('POST', `/webhooks/${id}/test`),
      service.sendJson('POST', `/webhooks/${id}/secret`, {}),
      service.sendJson('POST', `/webhooks/${id}/redeliver`, { after: 'now' }),
      service.send('GET', `/webhooks/${id}/deliveries`),
    ]
    for (const answer of await Promise.all(all('whk_00000000000'))) assert.equal(errorOf(answer), 40402)
    for (const answer of await Promise.all(all('7'))) assert.equal(errorOf(answer), 40003)
  })

  onEmpty('sends each change, signed, and lists its deliveries', LOCAL, async (service, t) => {
    const { id, secret, receiver } = await startWebhook(service, t)
    await service.sendJson('POST', '/plants', '{"id":9007199254740993,"name":"Fern \\"ö\\"","tag":"fern"}')
    await service.sendJson('PATCH', '/plants/9007199254740993', { tag: null })
    await service.send('DELETE', '/plants/9007199254740993')
    await untilReceived(receiver, 3)
    const bodies = receiver.received.map(({ body }) => body.replace(/"timestamp":"[^"]*"/, '"timestamp":"…"'))
    assert.deepEqual(bodies, [
      '{"type":"plant.created","timestamp":"…","data":{"id":9007199254740993,"name":"Fern \\"ö\\"","tag":"fern"}}',
      '{"type":"plant.updated","timestamp":"…","data":{"id":9007199254740993,"name":"Fern \\"ö\\""}}',
      '{"type":"plant.deleted","timestamp":"…","data":{"id":9007199254740993,"name":"Fern \\"ö\\""}}',
    ])
    for (const each of receiver.received) verify(each, secret)
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    assert.equal(new Set(ids).size, 3)
    await untilListed(service, id, 3)
    const listed = await deliveriesOf(service, id)
    const found = listed.map(({ event, type, status, failure }) => [event, type, status, failure])
    assert.deepEqual(found, [
      [ids[2], 'plant.deleted', 204, undefined],
      [ids[1], 'plant.updated', 204, undefined],
      [ids[0], 'plant.created', 204, undefined],
    ])
  })

  onEmpty('sends only changes of its types and tags', LOCAL, async (service, t) => {
    const { receiver } = await startWebhook(service, t, { types: ['plant.updated'], tags: ['fern', 'moss'] })
    for (const [id, tag] of ['fern', 'moss', 'tree'].entries()) {
      await service.sendJson('POST', '/plants', { id, name: 'a', tag })
      await service.sendJson('PATCH', `/plants/${id}`, { name: 'b' })
    }
    await service.sendJson('PATCH', '/plants/0', { tag: 'tree' })
    await service.sendJson('PATCH', '/plants/0', { name: 'c' })
    await service.sendJson('PATCH', '/plants/1', { name: 'last' })
    await untilReceived(receiver, 4)
    const sent = receiver.received.map(({ body }) => (JSON.parse(body) as { data: unknown }).data)
    assert.deepEqual(sent, [
      { id: 0, name: 'b', tag: 'fern' },
      { id: 1, name: 'b', tag: 'moss' },
      { id: 0, name: 'b', tag: 'tree' },
      { id: 1, name: 'last', tag: 'moss' },
    ])
  })

  onEmpty('is tested now, even while it is paused', LOCAL, async (service, t) => {
    const { id, secret, receiver } = await startWebhook(service, t, { respond: SHORT })
    await patchWebhook(service, id, { state: 'paused' })
    const tested = async () => {
      const answer = await service.send('POST', `/webhooks/${id}/test`)
      assert.equal(answer.status, 200, answer.body)
      const { durationMs, ...rest } = answer.json as Record<string, unknown>
      assert.ok(Number.isInteger(durationMs))
      return rest
    }
    assert.deepEqual(await tested(), { status: 418, failure: 'the status 418', answer: 'short' })
    const [request = assert.fail()] = receiver.received
    const form = new RegExp(`^{"type":"webhook.test","timestamp":"[^"]+","data":{"webhook":"${id}"}}$`)
    assert.match(request.body, form)
    verify(request, secret)
    await receiver.stop()
    assert.deepEqual(await tested(), { failure: 'nothing answers at this address', answer: '' })
    assert.deepEqual(await deliveriesOf(service, id), [])
  })

  onEmpty('is tested no longer once nobody waits for the result', LOCAL, async (service, t) => {
    const { id, receiver } = await startWebhook(service, t, { respond: () => {} })
    const leaving = new AbortController()
    const url = `http://127.0.0.1:${service.port}/webhooks/${id}/test`
    const headers = { Authorization: `Bearer ${SECRET}` }
    const left = assert.rejects(fetch(url, { method: 'POST', headers, signal: leaving.signal }))
    await untilReceived(receiver, 1)
    leaving.abort()
    await left
    const leftAt = performance.now()
    receiver.respond = OK
    await until(async () => (await service.send('POST', `/webhooks/${id}/test`)).status === 200, 'the test goes on')
    // By itself, it ends after 15 s.
    assert.ok(performance.now() - leftAt < 10_000)
  })

  onEmpty('is tested beside all requests that are under way, once at a time', LOCAL, async (service, t) => {
    const receiver = await startReceiver(t, { respond: () => {} })
    const ids: string[] = []
    while (ids.length < 100) ids.push((await createdWebhook(service, { url: receiver.url })).id)
    for (const plant of [1, 2]) await service.sendJson('PUT', `/plants/${plant}`, { name: 'Fern' })
    await untilReceived(receiver, 200)
    const tests = ids.map((id) => service.send('POST', `/webhooks/${id}/test`))
    await untilReceived(receiver, 300)
    assert.equal(errorOf(await service.send('POST', `/webhooks/${ids[0]}/test`)), 42901)
    await receiver.stop()
    for (const answer of await Promise.all(tests)) assert.equal(answer.status, 200)
    assert.equal(receiver.received.length, 300)
  })

  onEmpty(
    'is changed by right members alone, and loses no member but its description by null',
    EXTERNAL,
    async (service) => {
      const { secret: _, ...created } = await createdWebhook(service, { url: URL })
      for (const patch of [{ state: 'failed' }, { url: 'https://localhost/' }, { tags: 'a' }, { id: 'x' }, []]) {
        assert.equal(errorOf(await patchWebhook(service, created.id, patch)), 40002, JSON.stringify(patch))
      }
      assert.deepEqual(await webhookOf(service, created.id), created)
      assert.equal(errorOf(await createWebhook(service, { url: URL, description: null })), 40002)
      assert.equal((await patchWebhook(service, created.id, { description: 'labels' })).status, 200)
      for (const member of ['url', 'types', 'tags', 'untagged', 'body', 'concurrency', 'state']) {
        const refused = await patchWebhook(service, created.id, { description: null, [member]: null })
        assert.equal(errorOf(refused), 40002, member)
      }
      assert.equal((await webhookOf(service, created.id)).description, 'labels')
      for (let i = 0; i < 2; i++) {
        assert.deepEqual((await patchWebhook(service, created.id, { description: null })).json, created)
      }
      assert.deepEqual(await webhookOf(service, created.id), created)
    },
  )

  onEmpty('that is paused keeps its place, and goes on from there', LOCAL, async (service, t) => {
    const { id, receiver } = await startWebhook(service, t)
    const paused = await patchWebhook(service, id, { state: 'paused' })
    const { state, reason } = paused.json as { state: string; reason: string }
    assert.deepEqual([state, reason], ['paused', 'person'])
    await untilSeen(service, 'plantstore_webhooks{state="paused"} 1')
    for (let i = 1; i <= 100; i++) await service.sendJson('POST', '/plants', { id: i, name: `plant ${i}` })
    assert.equal(receiver.received.length, 0)
    await patchWebhook(service, id, { state: 'active' })
    await untilReceived(receiver, 100)
    assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 100)
  })

  onEmpty('gets the changes of the tags that it names now, also of deletes by import', LOCAL, async (service, t) => {
    const { id, receiver } = await startWebhook(service, t, { tagPrefix: 'conifer/', body: 'plant' })
    const send = (rows: readonly unknown[], mode: string) =>
      service.importFile(rows.map((row) => JSON.stringify(row)).join('\n'), { query: `?mode=${mode}` })
    const [pine, aloe, moss, fern] = [
      { id: 1, name: 'Pinus', tag: 'conifer/pine' },
      { id: 2, name: 'Aloe', tag: 'succulent' },
      { id: 3, name: 'Moss' },
      { id: 4, name: 'Fern' },
    ]
    await send([aloe, moss, fern, pine], 'add')
    // Until its delivery is stored, another filter has it sent again.
    await untilListed(service, id, 1)
    assert.equal(errorOf(await patchWebhook(service, id, { untagged: true })), 40002, 'it has a tagPrefix')
    const patched = await patchWebhook(service, id, { tagPrefix: null, untagged: true, types: ['plant.deleted'] })
    const { tagPrefix, untagged } = patched.json as { tagPrefix?: string; untagged: boolean }
    assert.deepEqual([tagPrefix, untagged], [undefined, true])
    const stream = await openStream(service, '/changes?untagged=true&after=now')
    await send([moss], 'delete')
    // By then the service has taken the new filter, which it looks for every 400 ms.
    await untilReceived(receiver, 2)
    await send([{ id: 1 }, { ...aloe, name: 'was' }, aloe, fern], 'delete')
    await untilReceived(receiver, 3)
    const found = receiver.received.map(({ body }) => JSON.parse(body))
    assert.deepEqual(found, [pine, moss, fern])
    const [entry] = await stream.until(1)
    assert.deepEqual([entry?.type, entry?.before?.name], ['plant.deleted', 'Moss'])
    stream.close()
  })

  onEmpty('that is deleted gets nothing more', LOCAL, async (service, t) => {
    const { id, receiver: gone } = await startWebhook(service, t)
    const { receiver: other } = await startWebhook(service, t)
    await untilSeen(service, 'plantstore_webhooks{state="active"} 2')
    assert.equal((await service.send('DELETE', `/webhooks/${id}`)).status, 204)
    assert.equal(errorOf(await service.send('GET', `/webhooks/${id}`)), 40402)
    await untilSeen(service, 'plantstore_webhooks{state="active"} 1')
    await service.sendJson('POST', '/plants', { id: 1, name: 'Fern' })
    await untilReceived(other, 1)
    assert.equal(gone.received.length, 0)
  })
})

/** Waits until the deliverer has looked at the webhooks again. */
const untilSeen = (service: Parameters<typeof deliveriesOf>[0], metric: string) =>
  until(async () => (await service.send('GET', '/metrics')).body.includes(metric), `no metric ${metric}`)
