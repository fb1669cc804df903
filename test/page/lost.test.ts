import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertAtBothSizes } from '../support/accessible.ts'
import { openMenu, openTools, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilKept, untilPageKept } from '../support/kept.ts'
import { hide, pageTests } from '../support/page.ts'
import { holdAnswers, intercept, NO_NETWORK } from '../support/page-network.ts'
import { line, loseNetwork, rename, rowOf, untilShown } from '../support/page-plants.ts'
import { SECRET, type Service } from '../support/service.ts'
import { until as untilHolds } from '../support/until.ts'

const RETRYING = 'The service does not answer; trying again…'
const LOST = 'The service does not answer.'
const ROWS = '[role=row][data-id]'

const connection = (page: Page): Locator => page.locator('.connection')
const selectAll = (page: Page): Locator => page.getByLabel('Select all that match')

/** Makes a plant of this name for each id, and shows those alone. */
async function shown(page: Page, service: Service, name: string, ids: readonly number[]): Promise<void> {
  for (const id of ids) await service.create({ id, name: `${name} ${id}` })
  await page.getByLabel('Search plants').fill(name)
  await untilShown(page, ids)
}

const { inBrowser, onPhone } = pageTests({ expected: NO_NETWORK })

suite('the page, while it has lost the service,', () => {
  onPhone('greys plants of the search before, selects none, and goes on later', async ({ page, context, service }) => {
    const first = 200
    const names = [`Acer${first}`, `Betula${first}`] as const
    await shown(page, service, names[1], [first + 50])
    await shown(page, service, names[0], [first, first + 1])
    const colour = () => page.evaluate<string>(`getComputedStyle(document.querySelector('${ROWS}')).color`)
    const before = await colour()
    await context.setOffline(true)
    await page.getByLabel('Search plants').fill(names[1])
    await connection(page).getByText(RETRYING).waitFor()
    await connection(page).getByText(LOST).waitFor()
    await page.getByText('These plants are those of the search before.').waitFor()
    assert.notEqual(await colour(), before)
    assert.ok(await selectAll(page).isDisabled())
    assert.ok(await page.getByLabel(`Select ${first}`, { exact: true }).isDisabled())
    await tabTo(page, rowOf(page, first))
    await page.keyboard.press('Space')
    assert.equal(await page.locator('.selection').count(), 0)
    await assertAtBothSizes(page)
    await context.setOffline(false)
    await untilShown(page, [first + 50])
    assert.equal(await connection(page).innerText(), '')
    await selectAll(page).check()
    await page.getByText('1 plant selected', { exact: true }).waitFor()
  })

  inBrowser('says so in sight, and reads again by itself, pressed or seen', async ({ page, context, service }) => {
    await service.create({ id: 302, name: 'Corylus' })
    await page.clock.install()
    await page.reload()
    await shown(page, service, 'Carpinus', [300, 301])
    const tries = { count: 0 }
    const all = /\/health\/ready|\/plants|\/changes|\/tags/
    const lose = async (search: string) => {
      await context.route(all, (route) => {
        if (route.request().url().includes('/health/')) tries.count += 1
        return route.abort('internetdisconnected')
      })
      await page.getByLabel('Search plants').fill(search)
      await untilLost()
    }
    const untilLost = async () => {
      const isLost = async () => {
        await page.clock.runFor(500)
        return connection(page).getByText(LOST).isVisible()
      }
      await untilHolds(isLost, 'the page does not give up')
    }
    await intercept(page, '**/unused', (route) => route.continue())
    await lose('Corylus')
    const { count } = tries
    await page.clock.runFor(15_000)
    await untilHolds(() => tries.count > count, 'the page does not look again')
    await context.unroute(all)
    await untilHolds(async () => {
      await page.clock.runFor(1000)
      return rowOf(page, 302).isVisible()
    }, 'the page does not read again')

    await lose('Carpinus')
    await hide(page, true)
    const { count: seen } = tries
    await page.clock.runFor(60_000)
    assert.ok(tries.count <= seen + 1, 'a hidden page looks again')
    await context.unroute(all)
    await hide(page, false)
    await untilShown(page, [300, 301])

    await lose('Corylus')
    await pressOn(page, connection(page).getByRole('button', { name: 'Try now' }))
    await connection(page).getByText(LOST).waitFor()
    await untilFocused(page, connection(page).getByRole('button', { name: 'Try now' }))
    await context.unroute(all)
    await page.keyboard.press('Enter')
    await rowOf(page, 302).waitFor()
    await connection(page).getByText(LOST).waitFor({ state: 'detached' })
  })

  inBrowser('leaves editors and forms as they are when it is back', { remembers: SECRET }, async (opened) => {
    const { page, service, address } = opened
    await service.create({ id: 500, name: 'Erica' })
    await page.goto(`${address}#/plant?id=500`)
    await untilKept(page, 'Erica')
    let state: 'lost' | 'held' | 'good' = 'good'
    let asked = Promise.withResolvers<void>()
    let answer = Promise.withResolvers<void>()
    await intercept(page, /\/health\/ready|\/plants|\/changes|\/tags|\/tokens/, async (route) => {
      if (state === 'lost') return route.abort('internetdisconnected')
      if (state === 'held' && /\/plants\/50.$/.test(route.request().url())) {
        asked.resolve()
        await answer.promise
      }
      await route.continue()
    })
    for (const [id, seen] of [
      [500, 'This is what this device has seen before'],
      [501, 'This device has not seen the plant.'],
    ] as const) {
      state = 'lost'
      await page.goto(`${address}#/plants`)
      await page.getByRole('search').waitFor()
      await page.goto(`${address}#/plant?id=${id}`)
      await page.getByText(seen).waitFor()
      await connection(page).getByText(LOST).waitFor()
      if (id === 500) await pressOn(page, page.getByRole('button', { name: 'Edit: 500' }))
      await tabTo(page, page.getByLabel('Name'))
      await page.keyboard.press('End')
      await page.keyboard.type(' carnea')
      state = 'held'
      await page.evaluate(`dispatchEvent(new Event('online'))`)
      await asked.promise
      await page.keyboard.type(' alba')
      state = 'good'
      answer.resolve()
      await page.getByText(seen).waitFor({ state: 'detached' })
      await page.keyboard.type('!')
      assert.equal(await page.getByLabel('Name').inputValue(), `${id === 500 ? 'Erica' : ''} carnea alba!`)
      asked = Promise.withResolvers()
      answer = Promise.withResolvers()
    }
  })

  inBrowser('never acts on plants of another search', async ({ page, service }) => {
    await shown(page, service, 'Davidia', [400, 401])
    await selectAll(page).check()
    await page.getByText('All 2 plants selected', { exact: true }).waitFor()
    await shown(page, service, 'Deutzia', [410, 411])
    await page.locator('.selection').waitFor({ state: 'detached' })
    await page.getByLabel('Select 410', { exact: true }).click()
    await page.getByText('1 plant selected', { exact: true }).waitFor()
  })
})

suite('the page says nothing before it knows it:', () => {
  inBrowser('not that a plant has no changes, nor that there is no tag or plant', async (opened) => {
    const { page, service, address } = opened
    await service.create({ id: 1, name: 'Larix', tag: 'bed' })
    const history = await holdAnswers(page, /\/history/)
    await page.goto(`${address}#/plant?id=1`)
    await history.untilHeld()
    await page.getByRole('heading', { name: 'History' }).waitFor()
    assert.equal(await page.getByText('The store keeps no change of it.').count(), 0)
    history()
    await page.locator('.history li').first().waitFor()

    const tags = await holdAnswers(page, /\/tags/)
    await page.goto(`${address}#/plants`)
    await openTools(page)
    await page.locator('summary', { hasText: 'Tags' }).click()
    await tags.untilHeld()
    assert.equal(await page.getByText('No plant has a tag.').count(), 0)
    tags()
    await page.getByLabel(/^bed/).first().waitFor()

    const plants = await holdAnswers(page, /\/plants\?/)
    await page.goto(`${address}#/labels`)
    await plants.untilHeld()
    await page.getByRole('heading', { name: 'Labels' }).first().waitFor()
    assert.equal(await page.getByText('No plant matches').count(), 0)
    plants()
    await page.getByLabel('Larix').first().waitFor()
  })

  inBrowser('not that nothing waits, where a change does', async ({ page, context, service, address }) => {
    await service.create({ id: 2, name: 'Ginkgo' })
    await loseNetwork(page, 2)
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
  })

  inBrowser('not that its script does not load, while a slow network brings it', async ({ page, address }) => {
    const script = await holdAnswers(page, '**/page/page.js')
    await page.goto(`${address}docs`)
    void page.goto(address, { waitUntil: 'commit' })
    await script.untilHeld()
    const text = page.locator('#not-loaded p')
    await page.getByRole('progressbar').waitFor()
    // Its style may come after it.
    await text.waitFor({ state: 'hidden' })
    await text.evaluate((shown) => shown.getAnimations()[0]?.finish())
    await text.waitFor({ state: 'visible' })
    script()
    await text.waitFor({ state: 'detached' })
  })

  inBrowser('but that it opens without a network, once it does', { serviceWorkers: 'allow' }, async ({ page }) => {
    await page.getByRole('button', { name: 'Remember on this device' }).click()
    await untilPageKept(page)
    await openMenu(page)
    await line(page, 'This device keeps the page, and shows the plants')
  })
})
