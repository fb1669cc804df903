import assert from 'node:assert/strict'
import { test } from 'node:test'
import { command } from '../support/commands.ts'
import { run } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { SECRET, withService } from '../support/service.ts'
import { createdWebhook, LOCAL } from '../support/webhooks.ts'

test('webhook list and webhook test show the webhooks of a service, and what a receiver answers', async (t) => {
  const service = await withService(t, LOCAL)
  const receiver = await startReceiver(t)
  const { id } = await createdWebhook(service, { url: receiver.url })
  const env = { PLANTSTORE_TOKEN: SECRET }
  const url = ['--url', `http://127.0.0.1:${service.port}`]
  const list = await command(['webhook', 'list', ...url], { env })
  assert.equal(list.code, 0, list.stderr)
  const [head = '', row = ''] = list.stdout.split('\n')
  assert.match(head, /^ID +STATE +SINCE +PENDING +URL$/)
  assert.match(row, new RegExp(`^${id} +active +\\d{4}-\\S+Z +0 +${receiver.url}$`))
  const json = await command(['webhook', 'list', '--json', ...url], { env })
  assert.equal((JSON.parse(json.stdout) as { id: string }[])[0]?.id, id)
  const tested = await command(['webhook', 'test', id, ...url], { env })
  assert.equal(tested.code, 0, tested.stderr)
  assert.match(tested.stdout, /^The receiver answered 204 after \d+ ms\.\n$/)
  await receiver.stop()
  const failed = await command(['webhook', 'test', id, ...url], { env })
  assert.equal(failed.code, 1)
  assert.match(failed.stdout, /^The test failed after \d+ ms: nothing answers at this address\.\n$/)
  const absent = await command(['webhook', 'test', 'whk_00000000000', ...url], { env })
  assert.equal(absent.code, 1)
  assert.match(absent.stderr, /error 40402: there is no webhook/)
  const without = await run(t, ['webhook', 'list'])
  assert.equal(without.code, 2)
  assert.match(without.stderr, /--url: give the address of the service/)
})
