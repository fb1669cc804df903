import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { pressOn } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { NO_NETWORK } from '../support/page-network.ts'
import { line, nothingWaits, rename, rowOf, storedPlant } from '../support/page-plants.ts'
import { SECRET, type Service } from '../support/service.ts'

const stored = (service: Service, ...ids: readonly number[]) => Promise.all(ids.map((id) => storedPlant(service, id)))

/** Adds a plant under an id that the person types. */
async function addAs(page: Page, id: number, name: string): Promise<void> {
  if ((await page.getByLabel('Id', { exact: true }).count()) === 0) {
    await page.getByRole('button', { name: 'Add a plant' }).click()
    await page.getByRole('button', { name: 'Change the id' }).click()
  }
  await page.getByLabel('Id', { exact: true }).fill(String(id))
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.keyboard.press('Enter')
}

suite('two plants under one id, without a network,', () => {
  const { inBrowser } = pageTests({ expected: NO_NETWORK })

  inBrowser('stay two: none replaces the other, whether edited or new', async ({ page, context, service }) => {
    for (const id of [6010, 6011]) await service.create({ id, name: `Rosa ${id}`, tag: 'bed' })
    await page.reload()
    await rowOf(page, 6011).waitFor()
    await context.setOffline(true)
    await rename(page, 6010, 'Rosa canina')
    await line(page, '1 change waits on this device.')
    const keeps = (id: number, name: string) => `Another plant waits on this device under the id ${id}: ${name}.`
    await addAs(page, 6010, 'Quercus')
    await line(page, `Not saved; what you typed is kept. ${keeps(6010, 'Rosa canina')}`)
    await addAs(page, 6012, 'Abies')
    await line(page, '2 changes wait on this device.')
    await addAs(page, 6012, 'Picea')
    await line(page, keeps(6012, 'Abies'))
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Picea')
    // A plant of the list is another one than a new plant that took its id by mistake.
    await addAs(page, 6011, 'Betula')
    await line(page, '3 changes wait on this device.')
    await rowOf(page, 6011).press('Delete')
    await line(page, `“Delete: 6011” failed. ${keeps(6011, 'Betula')}`)
    await rowOf(page, 6011).press('Enter')
    await page.getByLabel('Name: 6011').fill('Rosa alba')
    await page.keyboard.press('Enter')
    await rowOf(page, 6011).getByText(keeps(6011, 'Betula')).waitFor()
    await page.keyboard.press('Escape')
    // The person who sees a new plant wait edits that plant.
    await pressOn(page, page.getByRole('link', { name: 'Show them' }))
    await pressOn(page, page.getByRole('button', { name: 'Edit: 6012 Abies' }))
    await page.locator('textarea:focus').fill('Abies alba')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await pressOn(page, page.getByRole('button', { name: 'Drop: 6011 Betula' }))
    await line(page, '2 changes wait on this device.')
    await context.setOffline(false)
    await nothingWaits(page)
    assert.deepEqual(await stored(service, 6010, 6011, 6012), [
      { id: 6010, name: 'Rosa canina', tag: 'bed' },
      { id: 6011, name: 'Rosa 6011', tag: 'bed' },
      { id: 6012, name: 'Abies alba' },
    ])
  })

  inBrowser(
    'stay two in two tabs and at a label, also over a deletion',
    async ({ page, context, service, address }) => {
      await service.create({ id: 6020, name: 'Tilia', tag: 'bed' })
      await page.reload()
      await rowOf(page, 6020).waitFor()
      const [other, label] = [await context.newPage(), await context.newPage()]
      for (const tab of [other, label]) {
        await tab.goto(`${address}#token=${SECRET}`)
        await rowOf(tab, 6020).waitFor()
      }
      await label.goto(`${address}#/plant?id=6021`)
      await label.getByLabel('Name').fill('Ulmus')
      await context.setOffline(true)
      await addAs(page, 6021, 'Sorbus')
      await line(page, '1 change waits on this device.')
      await addAs(other, 6021, 'Salix')
      await line(other, 'Another plant waits on this device under the id 6021: Sorbus.')
      await addAs(other, 6022, 'Salix')
      await line(other, '2 changes wait on this device.')
      await label.getByLabel('Name').press('Enter')
      await line(label, 'Another plant waits on this device under the id 6021: Sorbus.')
      await rowOf(page, 6020).press('Delete')
      await rowOf(page, 6020).getByText('will be deleted').waitFor()
      await addAs(page, 6020, 'Taxus')
      await rowOf(page, 6020).getByText('waits to be sent').waitFor()
      await context.setOffline(false)
      for (const tab of [page, other]) await nothingWaits(tab)
      assert.deepEqual(await stored(service, 6020, 6021, 6022), [
        { id: 6020, name: 'Taxus' },
        { id: 6021, name: 'Sorbus' },
        { id: 6022, name: 'Salix' },
      ])
    },
  )
})
