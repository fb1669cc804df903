import assert from 'node:assert/strict'
import { Webhook } from 'standardwebhooks'
import type { WebhookWithSecret } from '../../client/src/contract.generated.ts'
import { startReceiver } from '../support/receiver.ts'
import { errorOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { KEY, withKey } from '../support/tokens.ts'
import { createdWebhook, LOCAL, webhookOf } from '../support/webhooks.ts'

onEmpty('a webhook gets a new secret, and signs by both until the end of the overlap', LOCAL, async (service, t) => {
  const receiver = await startReceiver(t)
  const { id, secret: old } = await createdWebhook(service, { url: receiver.url })
  const rotate = async (body: unknown, key?: string) => {
    const answer = await service.sendJson('POST', `/webhooks/${id}/secret`, body, key === undefined ? {} : withKey(key))
    assert.equal(answer.status, 200, answer.body)
    return answer.json as WebhookWithSecret
  }
  const { secret: fresh, previousSecretUntil } = await rotate({ overlapSeconds: 60 }, KEY)
  assert.ok(Date.parse(previousSecretUntil ?? '') > Date.now())
  assert.equal((await rotate({ overlapSeconds: 60 }, KEY)).secret, fresh, 'a retry rotates once')
  await service.send('POST', `/webhooks/${id}/test`)
  const verify = (secret: string) => {
    const { body = '', headers = {} } = receiver.received.at(-1) ?? {}
    new Webhook(secret).verify(body, headers as Record<string, string>, { jsonParse: false })
  }
  for (const secret of [old, fresh]) verify(secret)
  const { secret: third } = await rotate({ overlapSeconds: 60 })
  assert.equal((await rotate({ overlapSeconds: 0 }, KEY)).secret, fresh, 'a late retry rotates nothing back')
  await service.send('POST', `/webhooks/${id}/test`)
  for (const secret of [fresh, third]) verify(secret)
  assert.throws(() => verify(old))
  const { secret: last, previousSecretUntil: none } = await rotate({ overlapSeconds: 0 })
  assert.equal(none, undefined)
  await service.send('POST', `/webhooks/${id}/test`)
  verify(last)
  for (const secret of [fresh, third]) assert.throws(() => verify(secret))
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
  verify(newest)
  assert.equal((await service.send('POST', `/webhooks/${id}/secret`)).status, 200, 'no body is as good as {}')
  for (const overlapSeconds of [-1, 604_801, 1.5, '1']) {
    assert.equal(errorOf(await service.sendJson('POST', `/webhooks/${id}/secret`, { overlapSeconds })), 40002)
  }
})
