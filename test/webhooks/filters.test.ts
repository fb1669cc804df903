import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startReceiver, type TestReceiver } from '../support/receiver.ts'
import { emptyService, type Service, withService } from '../support/service.ts'
import { createdWebhook, LOCAL, patchWebhook, untilListed, untilReceived } from '../support/webhooks.ts'

const idsIn = ({ received }: TestReceiver): number[] =>
  received.map(({ body }) => (JSON.parse(body) as { data: { id: number } }).data.id)

const put = async (service: Service, id: number, tag?: string): Promise<void> => {
  const { status } = await service.sendJson('PUT', `/plants/${id}`, { name: 'Fern', ...(tag && { tag }) })
  assert.equal(status, 201)
}

suite('a webhook whose filter changes', () => {
  test('delivers the events that wait for their next attempt, and those between them that only the new filter has', async (t) => {
    const [service, receiver] = [await emptyService(LOCAL), await startReceiver(t)]
    receiver.respond = (response) => response.writeHead(500).end()
    const { id } = await createdWebhook(service, { url: receiver.url, tags: ['fern'] })
    await put(service, 1, 'fern')
    await put(service, 2, 'moss')
    await put(service, 3, 'fern')
    await untilListed(service, id, 2)
    receiver.received.length = 0
    receiver.respond = (response) => response.writeHead(204).end()
    assert.equal((await patchWebhook(service, id, { tags: ['fern', 'moss'] })).status, 200)
    await untilReceived(receiver, 3)
    assert.deepEqual(idsIn(receiver).toSorted(), [1, 2, 3])
  })

  for (const [member, before, after, wanted] of [
    ['types', { types: ['plant.updated', 'plant.deleted'] }, { types: ['plant.created'] }, undefined],
    ['tags', { tags: ['a/1'] }, { tags: ['b/1'] }, 'b/1'],
    ['tagPrefix', { tagPrefix: 'a/' }, { tagPrefix: 'b/' }, 'b/1'],
    ['untagged', { tags: ['a/1'] }, { tags: [], untagged: true }, undefined],
  ] as const) {
    test(`by ${member} while a request is under way gets what the filter before left out behind it`, async (t) => {
      // A service that has just begun: it has stored no place of the webhook but the first.
      const [service, receiver, other] = [await withService(t, LOCAL), await startReceiver(t), await startReceiver(t)]
      await put(service, 1, 'a/1')
      // The first request is never answered.
      receiver.respond = (response) => receiver.received.length > 1 && response.writeHead(204).end()
      const { id } = await createdWebhook(service, { url: receiver.url, ...before })
      await createdWebhook(service, { url: other.url })
      await service.sendJson('PUT', '/plants/1', { name: 'Moss', tag: 'a/1' })
      await untilReceived(receiver, 1)
      await put(service, 2, wanted)
      // Both webhooks read it at once.
      await untilReceived(other, 2)
      assert.equal((await patchWebhook(service, id, after)).status, 200)
      await untilReceived(receiver, 2)
      assert.deepEqual(idsIn(receiver), [1, 2])
    })
  }
})
