import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertAtBothSizes } from '../support/accessible.ts'
import { pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilKept } from '../support/kept.ts'
import { pageTests } from '../support/page.ts'
import { intercept, NO_NETWORK } from '../support/page-network.ts'
import { rowOf, untilShown } from '../support/page-plants.ts'
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

const setHidden = (page: Page, isHidden: boolean): Promise<void> =>
  page.evaluate(`(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} })
    document.dispatchEvent(new Event('visibilitychange'))
  })()`)

suite('the page, while it has lost the service,', () => {
  const { inBrowser, onPhone } = pageTests({ expected: NO_NETWORK })

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
    await assertAtBothSizes(page)
  })

  inBrowser('says so in sight, and reads again by itself, pressed or seen', async ({ page, context, service }) => {
    await service.create({ id: 302, name: 'Corylus' })
    await page.clock.install()
    await page.reload()
    await shown(page, service, 'Carpinus', [300, 301])
    const tries = { count: 0 }
    const lose = () =>
      context.route(/\/health\/ready|\/plants|\/changes|\/tags/, (route) => {
        if (route.request().url().includes('/health/')) tries.count += 1
        return route.abort('internetdisconnected')
      })
    const untilLost = async () => {
      const isLost = async () => {
        await page.clock.runFor(500)
        return connection(page).getByText(LOST).isVisible()
      }
      await untilHolds(isLost, 'the page does not give up')
    }
    await intercept(page, '**/unused', (route) => route.continue())
    await lose()
    await page.getByLabel('Search plants').fill('Corylus')
    await untilLost()
    const { count } = tries
    await page.clock.runFor(15_000)
    await untilHolds(() => tries.count > count, 'the page does not look again')
    await context.unroute(/\/health\/ready|\/plants|\/changes|\/tags/)
    await untilHolds(async () => {
      await page.clock.runFor(1000)
      return rowOf(page, 302).isVisible()
    }, 'the page does not read again')

    await lose()
    await page.getByLabel('Search plants').fill('Carpinus')
    await untilLost()
    await setHidden(page, true)
    const { count: seen } = tries
    await page.clock.runFor(60_000)
    assert.ok(tries.count <= seen + 1, 'a hidden page looks again')
    await context.unroute(/\/health\/ready|\/plants|\/changes|\/tags/)
    await setHidden(page, false)
    await untilShown(page, [300, 301])

    await lose()
    await page.getByLabel('Search plants').fill('Corylus')
    await untilLost()
    await pressOn(page, connection(page).getByRole('button', { name: 'Try now' }))
    await connection(page).getByText(LOST).waitFor()
    await untilFocused(page, connection(page).getByRole('button', { name: 'Try now' }))
    await context.unroute(/\/health\/ready|\/plants|\/changes|\/tags/)
    await page.keyboard.press('Enter')
    await rowOf(page, 302).waitFor()
    await connection(page).getByText(LOST).waitFor({ state: 'detached' })
  })

  inBrowser(
    'leaves the editor of a plant, and the form for one, where they are when the service answers again',
    { remembers: SECRET },
    async ({ page, service, address }) => {
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
    },
  )

  inBrowser('never acts on plants of another search', async ({ page, service }) => {
    await shown(page, service, 'Davidia', [400, 401])
    await selectAll(page).check()
    await page.getByText('All 2 plants selected', { exact: true }).waitFor()
    await shown(page, service, 'Deutzia', [410, 411])
    await page.locator('.selection').waitFor({ state: 'detached' })
    await page.getByLabel('Select 410', { exact: true }).click()
    await page.getByText('1 plant selected', { exact: true }).waitFor()
    await page.getByLabel('Search plants').fill('Davidia')
    await page.getByText('1 plant selected (1 of them is not below)', { exact: true }).waitFor()
  })
})
