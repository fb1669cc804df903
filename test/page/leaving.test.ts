import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { PHONE, pageTests } from '../support/page.ts'

/** Accepts each dialog, and collects their kinds. */
function dialogsOf(page: Page): string[] {
  const kinds: string[] = []
  page.on('dialog', async (dialog) => {
    kinds.push(dialog.type())
    await dialog.accept()
  })
  return kinds
}

suite('a person who leaves the page', () => {
  const inBrowser = pageTests()

  inBrowser('is asked first while an edit or a new plant is unsaved', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Larix' })
    const asked = dialogsOf(page)
    await page.reload()
    await page.getByRole('button', { name: 'Edit 1' }).click()
    await page.reload()
    await page.getByLabel('Name of 1').fill('Larix decidua')
    assert.deepEqual(asked, [], 'nothing was typed')
    // Browsers ask only a person who has interacted with the page.
    await page.getByLabel('Name of 1').click()
    await page.reload()
    assert.deepEqual(asked, ['beforeunload'])
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Add a plant' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Not added')
    await page.reload()
    assert.deepEqual(asked, ['beforeunload', 'beforeunload'])
    await page.getByRole('button', { name: 'Add a plant' }).click()
    await page.getByLabel('Name', { exact: true }).fill('')
    await page.reload()
    assert.equal(asked.length, 2, 'no unsaved text is left')
  })

  inBrowser(
    'loses no text typed for the plant of a label',
    async ({ page, address, service }) => {
      const asked = dialogsOf(page)
      const open = async (id: number) => {
        await page.goto(`${address}#/plant?id=${id}`)
        await page.getByRole('heading', { name: `Plant ${id}`, exact: true }).waitFor()
      }
      await open(70)
      await page.getByLabel('Name').fill('Larix kaempferi')
      await page.getByLabel('Tag').fill('tree')
      await open(71)
      assert.equal(await page.getByLabel('Name').inputValue(), '', 'this is another plant')
      await open(70)
      await page.getByLabel('Name').click()
      await page.reload()
      assert.deepEqual(asked, ['beforeunload'])
      await page.getByLabel('Name').press('Enter')
      await page.getByRole('gridcell', { name: 'Larix kaempferi' }).waitFor()
      const plant = { id: 70, name: 'Larix kaempferi', tag: 'tree' }
      assert.deepEqual((await service.send('GET', '/plants/70')).json, plant)
      await page.reload()
      await page.getByRole('gridcell', { name: 'Larix kaempferi' }).waitFor()
      assert.equal(await page.evaluate(`sessionStorage.getItem('plantstore-entered-plants')`), '{}')
      assert.equal(asked.length, 1, 'all is saved')
    },
    { viewport: PHONE },
  )
})
