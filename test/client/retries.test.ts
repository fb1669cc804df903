import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import {
  asksForSignIn,
  PlantstoreClient,
  PlantstoreError,
  PlantstoreUnreachable,
  type Retry,
} from '../../client/src/index.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { pluck } from '../support/pluck.ts'
import { FOREIGN, Portal } from '../support/portal.ts'
import { SECRET, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { words } from '../support/words.ts'
import { all, clientOf } from './support.ts'

/** A server that gives these answers in turn; undefined closes the connection. */
async function scripted(t: TestContext, answers: readonly (((response: ServerResponse) => void) | undefined)[]) {
  let asked = 0
  const server = createServer((request, response) => {
    request.resume()
    const answer = answers[Math.min(asked++, answers.length - 1)]
    if (answer === undefined) request.socket.destroy()
    else answer(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}

const refuse =
  (status: number, error: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(JSON.stringify({ error, message: 'no' }))
  }
/** Of the service, behind a proxy that adds its own headers. */
const OWN = { Server: 'nginx', 'Content-Type': 'application/json', 'X-Request-Id': '1' }
const live = (response: ServerResponse): void => void response.writeHead(200, OWN).end('{"status":"live"}')

suite('after a lost answer the client reaches the requested state', () => {
  /** A service, a direct client of it, and clients that never get their first answer. */
  async function withLoss(t: TestContext) {
    const service = await withService(t)
    const direct = clientOf(service)
    const lossy = async () => {
      const { address } = await cuttingProxy(t, `http://127.0.0.1:${service.port}`, { received: 1, connections: 1 })
      return clientOf(service, { url: address })
    }
    return { direct, lossy }
  }
  const plant = { id: 2n ** 60n + 1n, name: 'x', tag: 't' }

  test('of a create, even one that must be new', async (t) => {
    const { direct, lossy } = await withLoss(t)
    assert.deepEqual((await (await lossy()).createPlant(plant)).plant, plant)
    await direct.deletePlant(plant.id)
    assert.deepEqual((await (await lossy()).createPlant(plant, { mustBeNew: true })).plant, plant)
    const other = (await lossy()).createPlant({ ...plant, name: 'y' }, { mustBeNew: true })
    await assert.rejects(other, { name: 'PlantstoreError', number: 41201 })
  })

  test('of a replace, an update and a delete with a precondition', async (t) => {
    const { direct, lossy } = await withLoss(t)
    const { etag } = await direct.createPlant(plant)
    const replaced = await (await lossy()).replacePlant(plant.id, { name: 'y' }, { ifMatch: etag })
    assert.deepEqual(replaced.plant, { id: plant.id, name: 'y' })
    const updated = await (await lossy()).updatePlant(plant.id, { tag: 'z' }, { ifMatch: replaced.etag })
    assert.deepEqual(updated.plant, { id: plant.id, name: 'y', tag: 'z' })
    const cleared = await (await lossy()).updatePlant(plant.id, { tag: null }, { ifMatch: updated.etag })
    assert.deepEqual(cleared.plant, { id: plant.id, name: 'y' })
    await (await lossy()).deletePlant(plant.id, { ifMatch: cleared.etag })
    assert.deepEqual(await all(direct.listPlants()), [])
  })

  test('of a create of a token: one token with a working secret', async (t) => {
    const { direct, lossy } = await withLoss(t)
    const { id, secret } = await (await lossy()).createToken({ name: 'x', scopes: ['plants:read'] })
    assert.deepEqual(pluck(await all(direct.listTokens()), 'id'), [id])
    assert.match(secret, /^ps_/)
  })

  test('of an import, an export and a list', async (t) => {
    const { lossy } = await withLoss(t)
    assert.equal((await (await lossy()).importPlants([plant])).unchanged, 1)
    assert.deepEqual(await all((await lossy()).exportPlants()), [plant])
    assert.deepEqual(await all((await lossy()).listPlants()), [plant])
  })

  test('of an import that assigns ids, under the key of its caller', async (t) => {
    const { direct, lossy } = await withLoss(t)
    const options = { ids: 'assign', key: 'a-key-of-the-caller-1' } as const
    await (await lossy()).importPlants('{"name":"Fern"}\n', options)
    assert.equal((await all(direct.listPlants())).length, 1)
    const ofOtherRows = direct.importPlants('{"name":"Moss"}\n', options)
    await assert.rejects(ofOtherRows, { name: 'PlantstoreError', number: 40902 })
  })
})

suite('the client retries a request', () => {
  test('while the service is busy, no earlier than Retry-After, and calls onRetry', async (t) => {
    const { url, asked } = await scripted(t, [refuse(503, 50302, { 'Retry-After': '1' }), undefined, live])
    const retries: Retry[] = []
    const client = new PlantstoreClient({ url, onRetry: (retry) => retries.push(retry) })
    assert.deepEqual(await client.getLiveness(), { status: 'live' })
    assert.equal(asked(), 3)
    assert.deepEqual(pluck(retries, 'attempt'), [1, 2])
    const [busy, cut] = retries
    assert.ok(busy?.reason instanceof PlantstoreError && busy.reason.number === 50302 && busy.wait >= 1000)
    assert.ok(cut?.reason instanceof PlantstoreUnreachable && cut.wait >= 200 && cut.wait < 1000)
  })

  test('up to the number of attempts, and no longer than maxWait', async (t) => {
    const { url, asked } = await scripted(t, [undefined])
    const given: Error[] = []
    const onGiveUp = (reason: Error) => given.push(reason)
    await assert.rejects(new PlantstoreClient({ url, attempts: 3, onGiveUp }).getLiveness(), PlantstoreUnreachable)
    assert.equal(asked(), 3)
    assert.ok(given.length === 1 && given[0] instanceof PlantstoreUnreachable)
    const slow = await scripted(t, [refuse(503, 50303, { 'Retry-After': '3600' })])
    const refused = new PlantstoreClient({ url: slow.url }).getLiveness()
    await assert.rejects(refused, (error) => error instanceof PlantstoreError && error.retryAfter === 3600)
    assert.equal(slow.asked(), 1)
  })

  test('but not after a refusal that is final', async (t) => {
    for (const number of [40002, 40102, 40301, 40402, 40901]) {
      const status = Math.trunc(number / 100)
      const { url, asked } = await scripted(t, [refuse(status, number), live])
      const onGiveUp = () => assert.fail('a later attempt gets the same refusal')
      const refused = new PlantstoreClient({ url, onGiveUp }).getLiveness()
      await assert.rejects(refused, { name: 'PlantstoreError', number, status })
      assert.equal(asked(), 1)
    }
  })

  test('but not after its caller has aborted the call', async (t) => {
    const { url, asked } = await scripted(t, [() => {}])
    const client = new PlantstoreClient({ url })
    const reason = new Error('enough')
    await assert.rejects(client.getLiveness({ signal: AbortSignal.abort(reason) }), reason)
    assert.equal(asked(), 0)
    const ending = new AbortController()
    const waiting = client.getLiveness({ signal: ending.signal })
    ending.abort(reason)
    await assert.rejects(waiting, reason)
    const between = new AbortController()
    const busy = await scripted(t, [refuse(503, 50302, { 'Retry-After': '30' })])
    const options = { url: busy.url, onRetry: () => between.abort(reason) }
    await assert.rejects(new PlantstoreClient(options).getLiveness({ signal: between.signal }), reason)
  })

  test('but not one whose body is a stream, which can be sent once', async (t) => {
    const { url, asked } = await scripted(t, [undefined])
    const file = new Blob(['{"id":1,"name":"a"}\n']).stream()
    await assert.rejects(new PlantstoreClient({ url }).importPlants(file), PlantstoreUnreachable)
    assert.equal(asked(), 1)
  })

  test('that got no answer in time', async (t) => {
    const { url } = await scripted(t, [() => {}, live])
    assert.deepEqual(await new PlantstoreClient({ url, timeout: 300 }).getLiveness(), { status: 'live' })
    const silent = await scripted(t, [() => {}])
    const hasty = new PlantstoreClient({ url: silent.url, timeout: 50, attempts: 1 })
    const isTimeout = ({ cause }: Error) => cause instanceof Error && cause.name === 'TimeoutError'
    await assert.rejects(hasty.getLiveness(), isTimeout)
  })

  test('whose answer was cut short, and rejects the answer of a proxy', async (t) => {
    const html = (response: ServerResponse) => void response.writeHead(502).end('<html>Bad gateway</html>')
    const { url } = await scripted(t, [html])
    const refused = new PlantstoreClient({ url, attempts: 1 }).getLiveness()
    await assert.rejects(refused, { name: 'PlantstoreError', number: 0, status: 502, message: 'HTTP status 502' })
    const cutShort = await scripted(t, [(response) => void response.writeHead(200, OWN).end('{"status":')])
    await assert.rejects(new PlantstoreClient({ url: cutShort.url, attempts: 2 }).getLiveness(), PlantstoreUnreachable)
    assert.equal(cutShort.asked(), 2)
  })
})

suite('the client takes an answer only from the service', () => {
  const plant = { id: 7n, name: 'x' }

  test('and never follows a redirect, with which its token and its plants would go elsewhere', async (t) => {
    const elsewhere = await scripted(t, [live])
    for (const status of [301, 302, 303, 307, 308]) {
      for (const Location of [elsewhere.url, '/']) {
        const { url, asked } = await scripted(t, [(response) => void response.writeHead(status, { Location }).end()])
        const client = new PlantstoreClient({ url, token: SECRET, attempts: 1 })
        await assert.rejects(client.createPlant(plant), PlantstoreUnreachable)
        await assert.rejects(client.getLiveness(), PlantstoreUnreachable)
        assert.equal(asked(), 2)
      }
    }
    assert.equal(elsewhere.asked(), 0)
  })

  test('and refuses bytes that are not UTF-8 instead of changing them', async (t) => {
    const bytes = (text: string, type: string) => (response: ServerResponse) =>
      void response.writeHead(200, { ...OWN, 'Content-Type': type }).end(Buffer.from(text, 'latin1'))
    const read = async (text: string, type = 'application/json') => {
      const { url } = await scripted(t, [bytes(text, type)])
      return new PlantstoreClient({ url, attempts: 1 })
    }
    const one = await read('{"id":7,"name":"K\xe4se"}')
    await assert.rejects(one.getPlant(7n), PlantstoreUnreachable)
    await assert.rejects(all((await read('[{"id":7,"name":"K\xe4se"}]')).listPlants()), PlantstoreUnreachable)
    for (const wrong of ['K\xe4se"}\n', 'K\xc3']) {
      const seen: unknown[] = []
      const client = await read(`{"id":6,"name":"y"}\n{"id":7,"name":"${wrong}`, 'application/x-ndjson')
      const readAll = async () => {
        for await (const each of client.exportPlants()) seen.push(each)
      }
      await assert.rejects(readAll, TypeError)
      assert.ok(seen.every((each) => isDeepStrictEqual(each, { id: 6n, name: 'y' })))
    }
  })
})

test('the client refuses an address to which no request can go at once', () => {
  for (const url of [
    '',
    ...words`
    plants.example 127.0.0.1:8080 localhost:8080 /api //plants.example http:// ftp://plants.example
    https://a:b@plants.example http://plants.example/?a=b http://plants.example#x
  `,
  ])
    assert.throws(() => new PlantstoreClient({ url }), { name: 'TypeError', message: /https:\/\/plants\.example/ }, url)
})

const ID = 'tok_4bXm09TzQ1r'
const HOOK = 'whk_4bXm09TzQ1r'
const plant = { id: 7n, name: 'Rosa', tag: 'bed 1' }

/** Every method of the client. */
const CALLS: Readonly<Record<Exclude<keyof PlantstoreClient, symbol>, (client: PlantstoreClient) => unknown>> = {
  createPlant: (client) => client.createPlant(plant),
  getPlant: (client) => client.getPlant(7n),
  replacePlant: (client) => client.replacePlant(7n, plant),
  updatePlant: (client) => client.updatePlant(7n, { name: 'Rosa' }),
  deletePlant: (client) => client.deletePlant(7n),
  listPlants: (client) => all(client.listPlants()),
  listTags: (client) => all(client.listTags()),
  exportPlants: (client) => all(client.exportPlants()),
  exportFile: (client) => client.exportFile(),
  importPlants: (client) => client.importPlants([plant]),
  history: (client) => all(client.history(7n)),
  listDeletedPlants: (client) => all(client.listDeletedPlants()),
  listChanges: (client) => all(client.listChanges()),
  changes: (client) => all(client.changes()),
  listActions: (client) => all(client.listActions()),
  getAction: (client) => client.getAction('a'),
  undoAction: (client) => client.undoAction('a'),
  proposeId: (client) => client.proposeId(),
  reserveIds: (client) => client.reserveIds(3),
  createToken: (client) => client.createToken({ name: 'x', scopes: ['plants:read'] }),
  listTokens: (client) => all(client.listTokens()),
  getOwnToken: (client) => client.getOwnToken(),
  rotateToken: (client) => client.rotateToken(ID),
  revokeToken: (client) => client.revokeToken(ID),
  createWebhook: (client) => client.createWebhook({ url: 'https://plants.example' }),
  listWebhooks: (client) => client.listWebhooks(),
  getWebhook: (client) => client.getWebhook(HOOK),
  updateWebhook: (client) => client.updateWebhook(HOOK, { state: 'paused' }),
  deleteWebhook: (client) => client.deleteWebhook(HOOK),
  testWebhook: (client) => client.testWebhook(HOOK),
  rotateWebhookSecret: (client) => client.rotateWebhookSecret(HOOK),
  redeliverWebhook: (client) => client.redeliverWebhook(HOOK, { after: '1' }),
  listWebhookDeliveries: (client) => client.listWebhookDeliveries(HOOK),
  getLiveness: (client) => client.getLiveness(),
  getReadiness: (client) => client.getReadiness(),
  getMetrics: (client) => client.getMetrics(),
  getContract: (client) => client.getContract(),
  getResourceMetadata: (client) => client.getResourceMetadata(),
}

suite('no method of the client takes for an answer of the service what comes from', () => {
  for (const [name, foreign] of Object.entries(FOREIGN)) {
    test(name, async (t) => {
      const portal = await Portal.start(t)
      portal.answer = foreign
      let answers = 0
      const onAnswer = () => void answers++
      const client = new PlantstoreClient({ url: portal.address, token: SECRET, attempts: 1, onAnswer })
      for (const [method, call] of Object.entries(CALLS)) {
        const error = await Promise.resolve(call(client)).then(
          (value: unknown) => assert.fail(`${method} resolves with ${String(value)}`),
          (reason: unknown) => reason,
        )
        const isSilence = error instanceof PlantstoreUnreachable
        assert.ok(isSilence || (error instanceof PlantstoreError && error.number === 0), `${method}: ${error}`)
        if (foreign.isSignIn !== undefined) assert.equal(asksForSignIn(error), foreign.isSignIn, method)
      }
      assert.equal(answers, 0)
    })
  }
})

onService('a client that another program answers tries again, and gets that of the service', async (service, t) => {
  const portal = await Portal.start(t, service.port)
  for (const [name, foreign] of Object.entries(FOREIGN).filter(([, { isSignIn }]) => isSignIn)) {
    portal.answer = foreign
    const answers: unknown[] = []
    const client = new PlantstoreClient({
      url: portal.address,
      token: SECRET,
      onRetry: ({ reason }) => {
        assert.ok(asksForSignIn(reason), name)
        portal.answer = undefined
      },
      onAnswer: (refusal) => answers.push(refusal?.number),
    })
    const { etag } = await client.createPlant({ ...plant, name })
    assert.match(etag, /^"[^"]+"$/, name)
    portal.answer = foreign
    await client.deletePlant(plant.id, { ifMatch: etag })
    await assert.rejects(client.getPlant(plant.id), { number: 40402 })
    assert.deepEqual(answers, [undefined, undefined, 40402], name)
  }
})
