import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAtBothSizes } from '../support/accessible.ts'
import { openView, pressOn, signOver, untilFocused } from '../support/by-keyboard.ts'
import { PHONE, pageTests } from '../support/page.ts'
import { NO_NETWORK, withoutWaits } from '../support/page-network.ts'
import { line } from '../support/page-plants.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createdWebhook, deliveriesOf, LOCAL, patchWebhook, untilPending, untilState } from '../support/webhooks.ts'

/** Leaves only the webhooks of one test, because a file of tests has one service. */
async function clear(service: Service): Promise<void> {
  const all = (await service.send('GET', '/webhooks')).json as readonly { readonly id: string }[]
  for (const { id } of all) await service.send('DELETE', `/webhooks/${id}`)
}

suite('webhooks on the page', () => {
  const { inBrowser, onPhone } = pageTests({ settings: async () => LOCAL })

  onPhone('are listed with state, test and deliveries by keyboard alone', async ({ page, service, t }) => {
    await clear(service)
    const receiver = await startReceiver(t)
    const gone = await startReceiver(t, { respond: (response) => response.writeHead(410).end('no such <garden>') })
    const works = await createdWebhook(service, { url: receiver.url, description: 'label printer' })
    const ended = await createdWebhook(service, { url: `${gone.url}/${'long'.repeat(100)}` })
    const paused = await createdWebhook(service, { url: receiver.url, description: 'in winter' })
    await patchWebhook(service, paused.id, { state: 'paused' })
    await service.sendJson('PUT', `/plants/${PHONE.width}`, { name: 'Fern' })
    await untilState(service, ended.id, 'failed')
    await until(async () => (await deliveriesOf(service, works.id)).length === 1, 'nothing is delivered')
    await untilPending(service, { [works.id]: 0, [ended.id]: 1 })
    await openView(page, 'Webhooks')
    const itemOf = (id: string) => page.getByRole('listitem').filter({ has: page.getByText(id, { exact: true }) })
    await line(itemOf(works.id), /^active, since .*; 0 events wait$/)
    await line(itemOf(ended.id), /^failed: its receiver said that it is gone, since .*; 1 event waits$/)
    await line(itemOf(paused.id), /^paused: somebody paused it, since/)
    await assertAtBothSizes(page)

    const test = page.getByRole('button', { name: `Test: ${works.id}` })
    await pressOn(page, test)
    await page.getByText(/^The receiver answered 204 after [\d,]+ ms/).waitFor()
    await untilFocused(page, test)
    await pressOn(page, page.getByRole('button', { name: /^Dismiss: The receiver answered/ }))
    assert.match(receiver.received.at(-1)?.body ?? '', /"webhook.test"/)

    const deliveries = page.getByRole('button', { name: `Deliveries: ${works.id}` })
    await pressOn(page, deliveries)
    await line(itemOf(works.id), /plant\.created, delivered with 204 after [\d,]+ ms/)
    assert.equal(await deliveries.getAttribute('aria-expanded'), 'true')
    await pressOn(page, page.getByRole('button', { name: `Deliveries: ${ended.id}` }))
    await line(itemOf(ended.id), /plant\.created, the status 410 after [\d,]+ ms/)
    await pressOn(page, page.getByRole('button', { name: `Deliveries: ${paused.id}` }))
    await page.getByText('Nothing was sent in the last 7 days.').waitFor()
    await assertAtBothSizes(page)
    await pressOn(page, deliveries, 'Space', 'Shift+Tab')
    await page.getByText(/delivered with 204/).waitFor({ state: 'detached' })

    await pressOn(page, page.getByRole('button', { name: `Test: ${ended.id}` }))
    await page.getByText('The test failed: the status 410').waitFor()
    await assertAtBothSizes(page)
    assert.equal(await page.getByText(works.secret).count(), 0)
  })

  inBrowser('say where there are none, and where the service is away', { expected: NO_NETWORK }, async (opened) => {
    const { page, service, context, address } = opened
    await clear(service)
    const { secret } = await service.issueToken(['webhooks'])
    await page.clock.install()
    await signOver(page, address, secret)
    await page.getByText('There are no webhooks.').waitFor()
    const { id } = await createdWebhook(service, { url: 'http://127.0.0.1:1/' })
    await page.reload()
    const test = page.getByRole('button', { name: `Test: ${id}`, exact: true })
    await test.waitFor()
    await context.setOffline(true)
    await test.click()
    await withoutWaits(page, page.getByText('failed. The service cannot be reached.'))
    await context.setOffline(false)
    await test.click()
    await page.getByText('The test failed: nothing answers at this address').waitFor()
  })
})
