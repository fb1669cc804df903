import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible } from '../support/accessible.ts'
import { pressOn, tabTo, typeLabel, untilFocused } from '../support/by-keyboard.ts'
import { type FakeCamera, fakeCamera } from '../support/camera.ts'
import { untilKept, untilPageKept } from '../support/kept.ts'
import { pageTests, until } from '../support/page.ts'
import { choose } from '../support/page-files.ts'
import { changesOf, intercept, NO_NETWORK } from '../support/page-network.ts'
import { line, stored, storedNames, untilSent } from '../support/page-plants.ts'
import { SECRET } from '../support/service.ts'

const SEEN = 'This is what this device has seen before'
const LOST = 'The service does not answer.'
const KEPT = { remembers: SECRET, serviceWorkers: 'allow' } as const

const found = (page: Page, kind: string, count: number): Promise<void> =>
  page.getByRole('radio', { name: `${kind} ${count}`, exact: true }).waitFor()
/** Waits until the device keeps the page, and shows the plants so that it keeps them too. */
async function keepOnDevice(page: Page, name: string): Promise<void> {
  await untilPageKept(page)
  await page.reload()
  await page.getByText(name).waitFor()
  await untilKept(page, name)
}

suite('where the network goes in the middle of', () => {
  let camera: FakeCamera
  const { onPhone } = pageTests({
    args: (scene) => {
      camera = fakeCamera(scene)
      return camera.args
    },
    expected: NO_NETWORK,
  })

  onPhone('a stocktake, the person counts on, and loses nothing', KEPT, async ({ page, context, service, address }) => {
    const [first, bed] = [200, 'bed 200']
    for (let id = first; id < first + 20; id++) await service.create({ id, name: `Abies ${id}`, tag: bed })
    await service.create({ id: first + 30, name: `Betula ${first}` })
    await keepOnDevice(page, `Betula ${first}`)
    await page.goto(`${address}#/stocktake?${new URLSearchParams({ tag: bed })}`)
    await page.getByRole('button', { name: 'Begin with the plants that match' }).click()
    await typeLabel(page, first)
    await line(page, '1 of 20 plants there')

    await context.setOffline(true)
    // Another device adds a plant that this one has never seen.
    await service.create({ id: first + 31, name: `Clematis ${first}` })
    await typeLabel(page, first + 1)
    await line(page, '2 of 20 plants there')
    await page
      .locator('.stock')
      .getByLabel(`Abies ${first + 2}`)
      .click()
    await line(page, '3 of 20 plants there')
    await typeLabel(page, first + 30)
    await line(page, `Betula ${first} is not one of these plants.`)
    await line(page, SEEN)
    await typeLabel(page, first + 31)
    await line(page, `${first + 31} is not one of these plants.`)
    await found(page, 'Not expected', 2)

    // Two plants change meanwhile, and one is new.
    await page.getByRole('radio', { name: 'Not expected' }).check()
    await page
      .locator('.stock li', { hasText: String(first + 30) })
      .getByRole('link', { name: 'Open' })
      .click()
    await page.getByRole('button', { name: `Edit: ${first + 30}` }).click()
    await page.getByLabel('Name').fill(`Betula pendula ${first}`)
    await page.keyboard.press('Enter')
    await line(page, '1 change waits on this device.')
    await page.goto(`${address}#/plant?id=${first + 32}`)
    await page.getByLabel('Name').fill(`Dahlia ${first}`)
    await page.keyboard.press('Enter')
    await line(page, '2 changes wait on this device.')
    await page.goto(`${address}#/stocktake`)
    await typeLabel(page, first + 32)
    await found(page, 'Not expected', 3)

    await page.close()
    const tab = await context.newPage()
    const sent = changesOf(tab)
    await tab.goto(`${address}#/stocktake`)
    await line(tab, '3 of 20 plants there')
    await line(tab, '2 changes wait on this device.')
    await line(tab, SEEN)
    await tab.getByText(LOST).waitFor()
    // By a key, which meets it where a line above comes or goes at this moment.
    await tab.getByRole('radio', { name: 'Not expected' }).press(' ')
    await tab.locator('.stock').getByText(`Betula pendula ${first}`).waitFor()
    await tab.locator('.stock').getByText(`Dahlia ${first}`).waitFor()
    await tab.getByRole('radio', { name: 'Missing' }).check()
    await assertAccessible(tab)
    // Both lines stay in sight over the list, and lie over nothing that has the focus.
    await tabTo(tab, tab.getByLabel(`Abies ${first + 19}`))
    await until(tab, `document.querySelector('.waiting-line').getBoundingClientRect().top >= 0 && scrollY > 0`)
    await tabTo(tab, tab.getByRole('button', { name: 'End the stocktake' }), 'Shift+Tab')
    await tab.getByLabel(`Abies ${first + 3}`).click()
    await line(tab, '4 of 20 plants there')

    await untilSent(tab)
    await tab.getByText(SEEN).waitFor({ state: 'detached' })
    await tab.getByRole('radio', { name: 'Not expected' }).check()
    await tab.locator('.stock').getByText(`Clematis ${first}`).waitFor()
    await line(tab, '4 of 20 plants there')
    assert.deepEqual(sent, [`PATCH /plants/${first + 30}`, 'POST /plants'])
    assert.deepEqual(await stored(service, first + 30, first + 32), ['230 Betula pendula 200', '232 Dahlia 200'])
    await tab.getByRole('button', { name: 'End the stocktake' }).click()
    await tab.getByRole('dialog').getByRole('button', { name: 'End the stocktake' }).click()
    await line(tab, 'Choose the plants that should be there.')
  })

  onPhone('scanning, codes show plants, edit them, and take new ones', KEPT, async (opened) => {
    const { page, context, service, address } = opened
    for (const id of [7, 8]) await service.create({ id, name: `Erica ${id}` })
    await keepOnDevice(page, 'Erica 8')
    await context.setOffline(true)
    camera.show()
    await pressOn(page, page.getByRole('link', { name: 'Scan', exact: true }))
    // The reader of codes comes from the device.
    await page.getByText('Hold a label into the frame.').waitFor()
    camera.show(`${address}#/plant?id=7`)
    await page.getByRole('gridcell', { name: 'Erica 7' }).waitFor()
    await line(page, SEEN)
    await assertAccessible(page)
    camera.show()
    await typeLabel(page, 8)
    await page.getByRole('gridcell', { name: 'Erica 8' }).waitFor()
    await line(page, SEEN)
    await pressOn(page, page.getByRole('button', { name: 'Edit: 8' }))
    await untilFocused(page, page.getByLabel('Name'))
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('Erica carnea')
    await page.keyboard.press('Enter')
    await line(page, '1 change waits on this device.')
    camera.show(`${address}#/plant?id=9`)
    await line(page, 'This device has not seen the plant.')
    assert.equal(await page.getByText(/No plant has the id/).count(), 0)
    await page.getByLabel('Name').fill('Fagus')
    await page.keyboard.press('Enter')
    await line(page, '2 changes wait on this device.')
    camera.show()
    await typeLabel(page, 7)
    await page.getByRole('gridcell', { name: 'Erica 7' }).waitFor()
    await untilSent(page)
    await page.getByText(SEEN).waitFor({ state: 'detached' })
    assert.deepEqual(await stored(service, 7, 8, 9), ['7 Erica 7', '8 Erica carnea', '9 Fagus'])
  })

  onPhone('an import, the page says so, and adds nothing twice with the file again', async (opened) => {
    const { page, context, service } = opened
    const names = Array.from({ length: 12_500 }, (_, i) => `Ginkgo ${i}`)
    const check = async () => {
      await choose(page, 'many.csv', Buffer.from(`name\n${names.join('\n')}\n`))
      await pressOn(page, page.getByRole('button', { name: 'Check the file' }))
    }
    await check()
    await line(page, 'Added: 12,500')
    let parts = 0
    const answerAgain = await intercept(page, '**/plants/import?*dryRun=false*', async (route) => {
      parts += 1
      if (parts === 2) {
        // The store has the second part, and the page has no answer.
        await route.fetch()
        await context.setOffline(true)
      }
      await (parts < 2 ? route.continue() : route.abort('internetdisconnected'))
    })
    await pressOn(page, page.getByRole('button', { name: 'Import 12,500 plants' }))
    await line(page, 'The import is not complete. The service cannot be reached. No row is imported twice.')
    await line(page, 'Added: 5,000')
    await assertAccessible(page)
    await answerAgain()
    await context.setOffline(false)
    await page.getByText(LOST).waitFor({ state: 'detached' })
    await pressOn(page, page.getByRole('button', { name: 'Leave out the rest' }))
    await check()
    await line(page, 'Left out: 10,000')
    await pressOn(page, page.getByRole('button', { name: 'Import 2,500 plants' }))
    await page.getByRole('heading', { name: 'Next' }).waitFor()
    const found = (await storedNames(service)).filter((name) => name.startsWith('Ginkgo '))
    assert.deepEqual(found.toSorted(), names.toSorted())
  })
})
