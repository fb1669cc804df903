import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { asksForSignIn, PlantstoreClient, PlantstoreError, PlantstoreUnreachable } from '../../client/src/index.ts'
import { FOREIGN, Portal } from '../support/portal.ts'
import { SECRET } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { all } from './support.ts'

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
