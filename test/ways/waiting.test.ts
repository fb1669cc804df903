import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { pressOn, untilFocused } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { NO_NETWORK } from '../support/page-network.ts'
import {
  addPlant,
  line,
  loseNetwork,
  nothingWaits,
  patchPlant,
  rename,
  rowOf,
  stored,
  storedNames,
  untilSent,
} from '../support/page-plants.ts'
import { SECRET, type Service } from '../support/service.ts'

/** The changes of a plant that the store has taken. */
const changesOf = async (service: Service, id: number): Promise<number> =>
  ((await service.send('GET', `/plants/${id}/history`)).json as readonly unknown[]).length

const showWaiting = (page: Page): Promise<void> => pressOn(page, page.getByRole('link', { name: 'Show them' }))

suite('changes that wait for the service', () => {
  const { inBrowser, onPhone } = pageTests({ expected: NO_NETWORK })

  onPhone('are kept without a network, seen, edited and dropped, and sent later', async ({ page, service }) => {
    const first = 20
    for (let id = first; id < first + 4; id++) await service.create({ id, name: `Abies ${id}`, tag: 'bed' })
    await loseNetwork(page, first, first + 3)
    await pressOn(page, page.getByRole('button', { name: 'Add a plant' }))
    await untilFocused(page, page.getByLabel('Name', { exact: true }))
    await page.keyboard.type('Zelkova')
    await page.keyboard.press('Enter')
    await line(page, '1 change waits on this device.')
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '')
    await pressOn(page, page.getByRole('button', { name: 'Dismiss' }))
    await rename(page, first, 'Larix decidua')
    await rename(page, first + 1, 'Typed in vain')
    await rename(page, first + 2, 'Typed twice')
    await rename(page, first + 2, 'Typed twise')
    await rowOf(page, first + 3).press('Delete')
    await line(rowOf(page, first + 3), 'will be deleted')
    await line(page, '5 changes wait on this device.')
    await rowOf(page, first).getByText('waits to be sent').waitFor()
    await showWaiting(page)
    await page.getByRole('heading', { name: 'Changes that wait' }).waitFor()
    await page.getByText(`before: Abies ${first} bed`).waitFor()
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('button', { name: `Drop: ${first + 1} Typed in vain` }))
    await pressOn(page, page.getByRole('button', { name: `Edit: ${first + 2} Typed twise` }))
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('Picea abies')
    await pressOn(page, page.getByRole('button', { name: 'Save', exact: true }))
    await line(page, '4 changes wait on this device.')
    await page.getByText(`${first + 2} Picea abies`).waitFor()
    assert.deepEqual(await stored(service, 20), ['20 Abies 20 (bed)'])
    await untilSent(page)
    await page.getByText('Nothing waits.').waitFor()
    const expected = ['20 Larix decidua (bed)', '21 Abies 21 (bed)', '22 Picea abies (bed)']
    assert.deepEqual(await stored(service, 20, 21, 22, 23), expected)
    assert.equal((await storedNames(service)).filter((name) => name === 'Zelkova').length, 1)
    assert.equal(await changesOf(service, first + 2), 2, 'a create and one update')
  })

  inBrowser('become questions where others have changed the plants meanwhile', async ({ page, context, service }) => {
    for (const id of [40, 41, 42]) await service.create({ id, name: `Quercus ${id}` })
    await loseNetwork(page, 40, 42)
    await rename(page, 40, 'Quercus robur')
    await rename(page, 41, 'Quercus rubra')
    await rowOf(page, 42).press('Delete')
    await addPlant(page, 'Quercus ilex', 43)
    await line(page, '4 changes wait on this device.')
    for (const id of [40, 41, 42]) await patchPlant(service, id, { tag: 'theirs' })
    await service.create({ id: 43, name: 'Quercus suber' })
    await context.setOffline(false)
    await line(page, '4 need your decision.')
    await showWaiting(page)
    await assertAccessible(page)
    const decide = async (plant: string, choice: string) => {
      await pressOn(page, page.getByRole('button', { name: `Decide: ${plant}` }))
      await pressOn(page, page.getByRole('dialog').getByRole('button', { name: choice }))
      await page.getByRole('button', { name: `Decide: ${plant}` }).waitFor({ state: 'detached' })
    }
    await decide('40 Quercus robur', 'Save my version')
    await decide('41 Quercus rubra', 'Keep the stored plant')
    await pressOn(page, page.locator('.notice').getByRole('button', { name: 'Undo' }))
    await pressOn(page, page.getByRole('button', { name: 'Decide: 41 Quercus rubra' }))
    await untilFocused(page, page.getByRole('dialog').getByRole('button', { name: 'Not now' }))
    await page.keyboard.press('Enter')
    await decide('41 Quercus rubra', 'Keep the stored plant')
    await decide('42 Quercus 42', 'Delete it all the same')
    await decide('43 Quercus ilex', 'Keep the stored plant')
    await page.getByText('Nothing waits.').waitFor()
    const expected = ['40 Quercus robur', '41 Quercus 41 (theirs)', '43 Quercus suber']
    assert.deepEqual(await stored(service, 40, 41, 42, 43), expected)
  })

  onPhone('are undone deletions, chosen versions and labels too', async ({ page, context, service, address }) => {
    for (const id of [45, 46]) await service.create({ id, name: `Parrotia ${id}` })
    await page.reload()
    await rowOf(page, 45).press('Delete')
    await page.getByText('Deleted 45 Parrotia 45').waitFor()
    await rowOf(page, 46).press('Enter')
    await page.getByLabel('Name: 46').fill('Parrotia persica')
    await patchPlant(service, 46, { tag: 'theirs' })
    await page.keyboard.press('Enter')
    const mine = page.getByRole('button', { name: 'Save my version' })
    await mine.waitFor()
    await context.setOffline(true)
    await pressOn(page, mine)
    await page.getByLabel('Name: 46').waitFor({ state: 'detached' })
    await pressOn(page, page.getByRole('button', { name: 'Undo' }))
    await line(page, '2 changes wait on this device.')
    await untilSent(page)
    await page.goto(`${address}#/plant?id=47`)
    await page.getByLabel('Name').fill('Yucca')
    await context.setOffline(true)
    await page.keyboard.press('Enter')
    await page.getByRole('row').getByText('waits to be sent').waitFor()
    await untilSent(page)
    assert.deepEqual(await stored(service, 45, 46, 47), ['45 Parrotia 45', '46 Parrotia persica', '47 Yucca'])
  })

  inBrowser('outlive their tab, and two tabs send each of them once', async ({ page, context, service, address }) => {
    for (const id of [50, 51]) await service.create({ id, name: `Salix ${id}` })
    await loseNetwork(page, 50, 51)
    await rename(page, 50, 'Salix alba')
    await line(page, '1 change waits on this device.')
    await page.close()
    await context.setOffline(false)
    // No service answers the new tabs before both wait for it.
    await context.route('**/plants/5*', (route) => route.abort().catch(() => {}))
    const tabs = [await context.newPage(), await context.newPage()] as const
    for (const tab of tabs) {
      await tab.goto(`${address}#token=${SECRET}`)
      await line(tab, '1 change waits on this device.')
      await rowOf(tab, 51).waitFor()
    }
    await rename(tabs[0], 51, 'Salix caprea')
    for (const tab of tabs) await line(tab, '2 changes wait on this device.')
    await context.unrouteAll({ behavior: 'wait' })
    for (const tab of tabs) await nothingWaits(tab)
    assert.deepEqual(await stored(service, 50, 51), ['50 Salix alba', '51 Salix caprea'])
    assert.deepEqual([await changesOf(service, 50), await changesOf(service, 51)], [2, 2])
  })

  inBrowser('stay in their tab without room on the device, and are sent', async ({ page, context, service }) => {
    await service.create({ id: 80, name: 'Betula' })
    await page.reload()
    await rowOf(page, 80).waitFor()
    const session = await context.newCDPSession(page)
    const { origin } = new URL(page.url())
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 })
    await context.setOffline(true)
    await rename(page, 80, `Betula pendula ${'x'.repeat(500)}`)
    await line(page, 'This browser has no room left for changes. Keep this tab open until they are sent.')
    await assertAccessible(page)
    const asked = page.waitForEvent('dialog')
    void page.reload().catch(() => {})
    const dialog = await asked
    assert.equal(dialog.type(), 'beforeunload')
    await dialog.dismiss()
    await untilSent(page)
    assert.deepEqual(await stored(service, 80), [`80 Betula pendula ${'x'.repeat(500)}`])
  })
})
