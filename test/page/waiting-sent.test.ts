import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { pressOn } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { intercept, NO_NETWORK } from '../support/page-network.ts'
import { line, nothingWaits, rename, rowOf, storedPlant } from '../support/page-plants.ts'
import { withService } from '../support/service.ts'
import { until } from '../support/until.ts'

suite('a change that waits', () => {
  const { inBrowser } = pageTests({ expected: NO_NETWORK })

  for (const [id, when] of [
    [1, 'while it is on its way'],
    [3, 'while it arrives'],
  ] as const) {
    inBrowser(`is sent as it was, then as wanted by now, if edited ${when}`, async ({ page, context, service }) => {
      await service.create({ id, name: 'Acer' })
      await page.reload()
      await rowOf(page, id).waitFor()
      await context.setOffline(true)
      await rename(page, id, 'Acer rubrum')
      await line(page, '1 change waits on this device.')
      const release = await holdChange(page, id)
      await context.setOffline(false)
      await until(() => release.isHeld(), 'the change does not go out')
      await pressOn(page, page.getByRole('link', { name: 'Show them' }))
      await pressOn(page, page.getByRole('button', { name: `Edit: ${id} Acer rubrum` }))
      await page.locator('textarea:focus').fill('Acer sacchar')
      if (when === 'while it arrives') {
        release.answer()
        await page.locator('.waiting p.note').waitFor({ state: 'detached' })
      }
      await page.keyboard.type('um')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      release.answer()
      await nothingWaits(page)
      assert.deepEqual(await storedPlant(service, id), { id, name: 'Acer saccharum' })
      const history = (await service.send('GET', `/plants/${id}/history`)).json
      const found = (history as readonly { plant: { name: string } }[]).map(({ plant }) => plant.name).toSorted()
      assert.deepEqual(found, ['Acer', 'Acer rubrum', 'Acer saccharum'])
    })
  }

  inBrowser('goes out only after the service has said which store it has', async ({ page, context, service, t }) => {
    const other = await withService(t)
    for (const each of [service, other]) await each.create({ id: 2, name: 'Fagus' })
    await page.reload()
    await rowOf(page, 2).waitFor()
    await context.setOffline(true)
    await rename(page, 2, 'Fagus sylvatica')
    await line(page, '1 change waits on this device.')
    await line(page, 'The service does not answer.')
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.method()))
    const { promise: asked, resolve: answer } = Promise.withResolvers<void>()
    await intercept(page, '**/tokens/self', async (route) => {
      await asked
      const url = route.request().url().replace(`:${service.port}/`, `:${other.port}/`)
      await route.fulfill({ response: await route.fetch({ url }) })
    })
    await context.setOffline(false)
    await page.getByText('The service does not answer.').waitFor({ state: 'detached' })
    // Whoever sends what waits has the lock until the service has answered.
    await page.evaluate(`navigator.locks.request('plantstore-send', () => {})`)
    answer()
    await pressOn(page, page.getByRole('link', { name: 'Show them' }))
    await line(page, '1 change is for another store, or for this one before it was restored')
    assert.ok(!sent.includes('PATCH'))
  })
})

/** Holds the answer to a change of a plant that the store has taken. */
async function holdChange(page: Page, id: number) {
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  let isHeld = false
  await intercept(page, `**/plants/${id}`, async (route) => {
    const isFirst = route.request().method() === 'PATCH' && !isHeld
    if (!isFirst) return route.continue()
    isHeld = true
    const response = await route.fetch()
    await promise
    await route.fulfill({ response })
  })
  return { answer, isHeld: () => isHeld }
}
