import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { openMenu, openTools } from '../support/by-keyboard.ts'
import { pageTests, until } from '../support/page.ts'
import { intercept, NO_NETWORK } from '../support/page-network.ts'
import { rename, rowOf } from '../support/page-plants.ts'
import { SECRET } from '../support/service.ts'
import { until as untilHolds } from '../support/until.ts'

/** Holds the answers to an address. @returns whether one is held, and what lets them go */
async function hold(page: Page, url: string | RegExp) {
  const { promise, resolve: answer } = Promise.withResolvers<void>()
  let isHeld = false
  await intercept(page, url, async (route) => {
    isHeld = true
    await promise
    await route.continue()
  })
  return { answer, untilHeld: () => untilHolds(async () => isHeld, `the page does not ask for ${url}`) }
}

suite('the page says nothing before it knows it:', () => {
  const { inBrowser } = pageTests()

  inBrowser('not that a plant has no changes, nor that no tag and no plant is there', async (opened) => {
    const { page, service, address } = opened
    await service.create({ id: 1, name: 'Larix', tag: 'bed' })
    const history = await hold(page, /\/history/)
    await page.goto(`${address}#/plant?id=1`)
    await history.untilHeld()
    await page.getByRole('heading', { name: 'History' }).waitFor()
    assert.equal(await page.getByText('The store keeps no change of it.').count(), 0)
    history.answer()
    await page.locator('.history li').first().waitFor()

    const tags = await hold(page, /\/tags/)
    await page.goto(`${address}#/plants`)
    await openTools(page)
    await page.locator('summary', { hasText: 'Tags' }).click()
    await tags.untilHeld()
    assert.equal(await page.getByText('No plant has a tag.').count(), 0)
    tags.answer()
    await page.getByLabel(/^bed/).first().waitFor()

    const plants = await hold(page, /\/plants\?/)
    await page.goto(`${address}#/labels`)
    await plants.untilHeld()
    await page.getByRole('heading', { name: 'Labels' }).first().waitFor()
    assert.equal(await page.getByText('No plant matches').count(), 0)
    plants.answer()
    await page
      .getByLabel(/^Larix/)
      .first()
      .waitFor()
  })

  inBrowser(
    'not that nothing waits, where a change does',
    { expected: NO_NETWORK },
    async ({ page, context, service, address }) => {
      await service.create({ id: 2, name: 'Ginkgo' })
      await page.reload()
      await rowOf(page, 2).waitFor()
      await context.setOffline(true)
      await rename(page, 2, 'Ginkgo biloba')
      await page.getByText('1 change waits on this device.').waitFor()
      await context.route('**/plants/2', (route) => route.abort())
      await context.setOffline(false)
      const tab = await context.newPage()
      await tab.goto(`${address}#token=${SECRET}`)
      await rowOf(tab, 2).waitFor()
      // Another tab is writing for as long as this takes.
      await page.evaluate(`new Promise((done) => {
        globalThis.isWriting = true
        indexedDB.open('plantstore').onsuccess = ({ target: { result: kept } }) => {
          const store = kept.transaction('waiting', 'readwrite').objectStore('waiting')
          const goOn = () => {
            done()
            if (isWriting) store.count().onsuccess = goOn
          }
          goOn()
        }
      })`)
      await tab.goto(`${address}#/waiting`)
      await tab.reload()
      await tab.getByRole('heading', { name: 'Changes that wait' }).waitFor()
      assert.equal(await tab.getByText('Nothing waits.').count(), 0)
      await page.evaluate('isWriting = false')
      await tab.getByText('2 Ginkgo biloba').waitFor()
    },
  )

  inBrowser('not that its script does not load, while a slow network brings it', async ({ page, address }) => {
    const script = await hold(page, '**/page/page.js')
    await page.goto(`${address}docs`)
    void page.goto(address, { waitUntil: 'commit' })
    await script.untilHeld()
    const text = page.locator('#not-loaded p')
    await page.getByRole('progressbar').waitFor()
    // Its style may come after it.
    await text.waitFor({ state: 'hidden' })
    await text.evaluate((shown) => shown.getAnimations()[0]?.finish())
    await text.waitFor({ state: 'visible' })
    script.answer()
    await text.waitFor({ state: 'detached' })
  })

  inBrowser(
    'but in its menu that it opens without a network, once it does',
    { remembers: SECRET, serviceWorkers: 'allow' },
    async ({ page }) => {
      await page.evaluate('navigator.serviceWorker.ready.then(() => {})')
      await until(page, 'navigator.serviceWorker.controller !== null')
      await openMenu(page)
      await page.getByText('This device keeps the page, and shows the plants').waitFor()
    },
  )
})
