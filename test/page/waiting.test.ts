import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { assertAccessible } from '../support/accessible.ts'
import { pressOn } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { changesOf, intercept, NO_NETWORK, withoutWaits } from '../support/page-network.ts'
import { addPlant, line, loseNetwork, nothingWaits, rename, rowOf, stored, untilSent } from '../support/page-plants.ts'
import { withService } from '../support/service.ts'
import { settled } from '../support/until.ts'

const keeps = (id: number, name: string): string => `Another plant waits on this device under the id ${id}: ${name}.`

const FAULT = { status: 500, json: { error: 50001, message: 'An unexpected error occurred.' } }

/** Fails at the requests of a method in the place of the service. */
const failing =
  (method: string) =>
  (route: Route): Promise<void> =>
    route.request().method() === method ? route.fulfill(FAULT) : route.continue()

const showWaiting = (page: Page): Promise<void> => pressOn(page, page.getByRole('link', { name: 'Show them' }))

suite('a change that waits', () => {
  const { inBrowser } = pageTests({ expected: NO_NETWORK })

  inBrowser('holds no other up when it fails, says why, and is tried again', async ({ page, context, service }) => {
    for (const id of [4, 5]) await service.create({ id, name: `Acer ${id}` })
    await page.clock.install()
    await page.reload()
    await rowOf(page, 5).waitFor()
    const end = await intercept(page, '**/plants/4', failing('PATCH'))
    await context.setOffline(true)
    await rename(page, 4, 'Acer campestre')
    await rename(page, 5, 'Acer negundo')
    await line(page, '2 changes wait on this device.')
    await context.setOffline(false)
    await line(page, '1 change waits on this device. 1 needs your decision.')
    assert.deepEqual(await stored(service, 5), ['5 Acer negundo'])
    await showWaiting(page)
    await line(page, 'Something went wrong in the service.')
    await page.getByRole('button', { name: 'Edit: 4 Acer campestre' }).waitFor()
    await page.getByRole('button', { name: 'Drop: 4 Acer campestre' }).waitFor()
    await assertAccessible(page)
    await end()
    await withoutWaits(page, page.getByText('Nothing waits.'))
    assert.deepEqual(await stored(service, 4), ['4 Acer campestre'])
  })

  inBrowser('shows its new plant at its label, though the service has none', async ({ page, address, context }) => {
    await page.goto(`${address}#/plant?id=6`)
    await intercept(page, '**/plants', failing('POST'))
    await page.getByLabel('Name').fill('Salix alba')
    await context.setOffline(true)
    await page.getByLabel('Name').press('Enter')
    await line(page, '1 change waits on this device.')
    await context.setOffline(false)
    await line(page, '1 change waits on this device. 1 needs your decision.')
    await page.reload()
    await line(rowOf(page, 6), 'Salix alba')
  })

  inBrowser('is sent as it was, then as wanted by now, if edited while it arrives', async (opened) => {
    const { page, context, service } = opened
    await service.create({ id: 23, name: 'Acer' })
    await loseNetwork(page, 23)
    await rename(page, 23, 'Acer rubrum')
    await line(page, '1 change waits on this device.')
    const [taken, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isFirst = true
    await intercept(page, '**/plants/23', async (route) => {
      if (route.request().method() !== 'PATCH' || !isFirst) return route.continue()
      isFirst = false
      // The store has the change, and its answer is on its way.
      const response = await route.fetch()
      taken.resolve()
      await answered.promise
      await route.fulfill({ response })
    })
    await context.setOffline(false)
    await settled(taken.promise, 'the change does not go out')
    await showWaiting(page)
    await pressOn(page, page.getByRole('button', { name: 'Edit: 23 Acer rubrum' }))
    await page.locator('textarea:focus').fill('Acer sacchar')
    answered.resolve()
    await page.locator('.waiting p.note').waitFor({ state: 'detached' })
    await page.keyboard.type('um')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await nothingWaits(page)
    const history = (await service.send('GET', '/plants/23/history')).json
    const found = (history as readonly { plant: { name: string } }[]).map(({ plant }) => plant.name)
    assert.deepEqual(found.toSorted(), ['Acer', 'Acer rubrum', 'Acer saccharum'])
    assert.deepEqual(await stored(service, 23), ['23 Acer saccharum'])
  })

  inBrowser('never goes to another store, as after a restore', async ({ page, context, service, t }) => {
    const other = await withService(t)
    for (const each of [service, other]) await each.create({ id: 2, name: 'Fagus' })
    await loseNetwork(page, 2)
    await rename(page, 2, 'Fagus sylvatica')
    await line(page, '1 change waits on this device.')
    await line(page, 'The service does not answer.')
    const sent = changesOf(page)
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
    await showWaiting(page)
    await line(page, '1 change is for another store, or for this one before it was restored')
    await line(page, '1 needs your decision.')
    await page.getByRole('button', { name: 'Drop' }).click()
    await line(page, 'Nothing waits.')
    assert.deepEqual(sent, [])
  })

  inBrowser('is another plant than one that takes its id, whether edited or new', async ({ page, service }) => {
    for (const id of [6010, 6011]) await service.create({ id, name: `Rosa ${id}`, tag: 'bed' })
    await loseNetwork(page, 6011)
    await rename(page, 6010, 'Rosa canina')
    await line(page, '1 change waits on this device.')
    await addPlant(page, 'Quercus', 6010)
    await line(page, `Not saved; what you typed is kept. ${keeps(6010, 'Rosa canina')}`)
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Quercus')
    await addPlant(page, 'Abies', 6012)
    await line(page, '2 changes wait on this device.')
    // A plant of the list is another one than a new plant that took its id by mistake.
    await addPlant(page, 'Betula', 6011)
    await line(page, '3 changes wait on this device.')
    await rowOf(page, 6011).press('Delete')
    await line(page, `“Delete: 6011” failed. ${keeps(6011, 'Betula')}`)
    await rowOf(page, 6011).press('Enter')
    await page.getByLabel('Name: 6011').fill('Rosa alba')
    await page.keyboard.press('Enter')
    await line(rowOf(page, 6011), keeps(6011, 'Betula'))
    await page.keyboard.press('Escape')
    // The person who sees a new plant wait edits that plant.
    await showWaiting(page)
    await pressOn(page, page.getByRole('button', { name: 'Edit: 6012 Abies' }))
    await page.locator('textarea:focus').fill('Abies alba')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await pressOn(page, page.getByRole('button', { name: 'Drop: 6011 Betula' }))
    await line(page, '2 changes wait on this device.')
    await untilSent(page)
    const expected = ['6010 Rosa canina (bed)', '6011 Rosa 6011 (bed)', '6012 Abies alba']
    assert.deepEqual(await stored(service, 6010, 6011, 6012), expected)
  })
})
