import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Locator } from 'playwright-core'
import { assertFits } from '../support/accessible.ts'
import { openView, pressOn, signIn, signOver, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilCount } from '../support/labels.ts'
import { type Opened, pageTests, until } from '../support/page.ts'
import { intercept } from '../support/page-network.ts'
import { patchPlant, rowOf, storedPlant, untilShown } from '../support/page-plants.ts'
import { SECRET } from '../support/service.ts'
import { lockOut } from '../support/tokens.ts'

let last = 0n

/** Creates a plant for the test, and filters the table so that it shows only this plant. */
async function plantIn({ page, service }: Opened, name: string, tag = 'tree'): Promise<{ id: string; row: Locator }> {
  last += 1n
  const id = String(last)
  await service.create({ id: Number(last), name: `${name} x${id}`, tag })
  await page.getByLabel('Search plants').fill(`x${id}`)
  const row = rowOf(page, id)
  await row.waitFor()
  await untilCount(page.locator('[role=row][data-id]'), 1)
  return { id, row }
}

suite('the page, for changes of plants,', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('edits in the table and deletes with undo, by keyboard alone', async (opened) => {
    const { page, service } = opened
    const { id, row } = await plantIn(opened, 'Acer')
    await pressOn(page, row)
    await untilFocused(page, page.getByLabel(`Name: ${id}`))
    await page.keyboard.press('Control+A')
    await page.keyboard.type(`Acer palmatum x${id}`)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Control+A')
    await page.keyboard.press('Delete')
    await page.keyboard.press('Enter')
    await page.getByText(`Saved ${id}`).waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: `Acer palmatum x${id}` })
    await untilFocused(page, row)
    await page.keyboard.press('F2')
    await untilFocused(page, page.getByLabel(`Name: ${id}`))
    await page.keyboard.type('never saved')
    await page.keyboard.press('Escape')
    await untilFocused(page, row)
    await page.keyboard.press('Delete')
    await page.getByText(`Deleted ${id}`).waitFor()
    assert.equal(await storedPlant(service, id), undefined)
    await pressOn(page, page.getByRole('button', { name: 'Undo' }))
    await row.waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: `Acer palmatum x${id}` })
  })

  inBrowser('keeps untouched fields: the lines of a name, and the empty tag', async (opened) => {
    const { page, service } = opened
    const { id, row } = await plantIn(opened, 'Two\r\nlines', '')
    await row.getByRole('button', { name: `Edit: ${id}` }).click()
    await page.getByLabel(`Tag: ${id}`).fill('shrub')
    await row.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`Saved ${id}`).waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: `Two\r\nlines x${id}`, tag: 'shrub' })
    await row.getByRole('button', { name: `Edit: ${id}` }).click()
    await page.getByLabel(`Name: ${id}`).fill('One line')
    await row.getByRole('button', { name: 'Save' }).click()
    await until(page, `document.querySelector('[data-id="${id}"] .name')?.textContent === 'One line'`)
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: 'One line', tag: 'shrub' })
  })

  inBrowser('shows both versions to the second of two editors, by keyboard alone', async (opened) => {
    const { page, service } = opened
    const { id, row } = await plantIn(opened, 'Rosa')
    const name = page.getByLabel(`Name: ${id}`)
    const dialog = page.getByRole('dialog', { name: `Somebody has changed ${id} meanwhile` })
    const edit = async (text: string) => {
      await page.keyboard.press('Enter')
      await untilFocused(page, name)
      await page.keyboard.press('Control+A')
      await page.keyboard.type(text)
    }
    await tabTo(page, row)
    await edit(`mine x${id}`)
    await patchPlant(service, id, { name: `theirs x${id}`, tag: 'rose' })
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Stored now').getByText(`theirs x${id}`).waitFor()
    await dialog.getByLabel('Your version').getByText(`mine x${id}`).waitFor()
    // Who presses Enter once more has not read the question, and loses nothing.
    await untilFocused(page, dialog.getByRole('button', { name: 'Continue editing' }))
    await pressOn(page, dialog.getByRole('button', { name: 'Keep the stored plant' }))
    await row.getByText(`theirs x${id}`).waitFor()
    await untilFocused(page, row)
    await pressOn(page, page.locator('.notice').getByRole('button', { name: 'Undo' }))
    await name.waitFor()
    assert.equal(await name.inputValue(), `mine x${id}`)
    await name.press('Escape')
    await untilFocused(page, row)
    await edit(`mine again x${id}`)
    await patchPlant(service, id, { tag: 'climber' })
    await page.keyboard.press('Enter')
    await pressOn(page, dialog.getByRole('button', { name: 'Continue editing' }))
    await untilFocused(page, name)
    await page.keyboard.press('Enter')
    await page.getByText(`Saved ${id}`).waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: `mine again x${id}`, tag: 'climber' })
    await untilFocused(page, row)
    await edit(`last x${id}`)
    await patchPlant(service, id, { name: 'lost' })
    await page.keyboard.press('Enter')
    await pressOn(page, dialog.getByRole('button', { name: 'Save my version' }))
    await row.getByText(`last x${id}`).waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: `last x${id}`, tag: 'climber' })
    await untilFocused(page, row)
    await edit(`after all x${id}`)
    await service.send('DELETE', `/plants/${id}`)
    await page.keyboard.press('Enter')
    await pressOn(page, page.getByRole('button', { name: 'Add my version again' }))
    await row.getByText(`after all x${id}`).waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: `after all x${id}`, tag: 'climber' })
  })

  inBrowser('deletes no plant that has changed since the page showed it', async (opened) => {
    const { page, service } = opened
    const { id, row } = await plantIn(opened, 'Ulmus')
    // The change comes before the page hears of it.
    const goOn = await intercept(page, `**/plants/${id}`, async (route) => {
      await patchPlant(service, id, { tag: 'keep' })
      await route.continue()
    })
    await row.getByRole('button', { name: `Delete: ${id}` }).click()
    await page.getByText(`“Delete: ${id}” failed. Somebody has changed or deleted it meanwhile.`).waitFor()
    await goOn()
    assert.ok((await storedPlant(service, id)) !== undefined)
    await row.getByText('keep').waitFor()
    await row.getByRole('button', { name: `Delete: ${id}` }).click()
    await page.getByText(`Deleted ${id}`).waitFor()
    assert.equal(await storedPlant(service, id), undefined)
  })

  inBrowser('asks for a token again when it is revoked during an edit, and keeps the edit', async (opened) => {
    const { page, service, address } = opened
    const { id, row } = await plantIn(opened, 'Salix')
    const { secret, token } = await service.issueToken(['plants:read', 'plants:write'])
    await signOver(page, address, secret)
    await page.getByText('Signed in as a test').waitFor()
    await page.getByLabel('Search plants').fill(`x${id}`)
    await row.getByRole('button', { name: `Edit: ${id}` }).click()
    await page.getByLabel(`Name: ${id}`).fill(`Salix alba x${id}`)
    await lockOut(service, { secret, token })
    await row.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The token has expired or was revoked.').waitFor()
    await signIn(page, SECRET)
    await page.getByLabel(`Name: ${id}`).waitFor()
    assert.equal(await page.getByLabel(`Name: ${id}`).inputValue(), `Salix alba x${id}`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`Saved ${id}`).waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: `Salix alba x${id}`, tag: 'tree' })
  })

  inBrowser('puts rows back where they were, in any order of undoing, also after a search', async (opened) => {
    const { page, service } = opened
    const ids = Array.from({ length: 5 }, (_, i) => String(last + 1n + BigInt(i)))
    last += 5n
    for (const id of ids) await service.create({ id: Number(id), name: `Quercus ${9 - ids.indexOf(id)}` })
    const shows = (...wanted: readonly (string | undefined)[]) => untilShown(page, wanted)
    const undo = async (id = '') => {
      const notice = page.locator('.notice', { hasText: `Deleted ${id} ` })
      await notice.getByRole('button', { name: 'Undo' }).click()
    }
    const remove = async (id = '') => {
      await page.getByRole('button', { name: `Delete: ${id}` }).click()
      await rowOf(page, id).waitFor({ state: 'detached' })
    }
    const [a, b, c, d, e] = ids
    await page.getByLabel('Search plants').fill('quercus')
    await shows(a, b, c, d, e)
    await page.getByRole('button', { name: /^Name/ }).click()
    await shows(e, d, c, b, a)
    for (const order of [
      [b, c, d],
      [d, c, b],
    ]) {
      for (const id of [b, c, d]) await remove(id)
      await shows(e, a)
      for (const id of order) await undo(id)
      await shows(e, d, c, b, a)
    }
    await remove(c)
    await page.getByLabel('Search plants').fill('no such plant')
    await page.getByText('No plant matches.').waitFor()
    await page.getByLabel('Search plants').fill('quercus')
    await shows(e, d, b, a)
    await undo(c)
    await shows(e, d, c, b, a)
    await remove(c)
    await openView(page, 'Labels')
    await page.goBack()
    await shows(e, d, b, a)
    await undo(c)
    await shows(e, d, c, b, a)
  })

  inBrowser('restores a plant in the view that its label opens, and in the table behind it', async (opened) => {
    const { page, address } = opened
    const { id, row } = await plantIn(opened, 'Zelkova')
    const remove = async () => {
      await row.locator('summary').click()
      await row.getByRole('button', { name: `Delete: ${id}` }).click()
    }
    const undo = page.getByRole('button', { name: 'Undo' })
    await page.waitForURL(/q=/)
    await page.goto(`${address}#/plant?id=${id}`)
    await page.getByRole('heading', { level: 1, name: 'Zelkova' }).waitFor()
    await remove()
    await page.getByText('This plant was deleted.').waitFor()
    await undo.click()
    await row.waitFor()
    await remove()
    await page.getByText('This plant was deleted.').waitFor()
    await page.goBack()
    await page.getByText('No plant matches.').waitFor()
    await undo.click()
    await row.waitFor()
  })

  inBrowser('says that undo failed if another plant has the id', async (opened) => {
    const { page, service } = opened
    const { id, row } = await plantIn(opened, 'Tilia')
    await row.getByRole('button', { name: `Delete: ${id}` }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await service.create({ id: Number(id), name: 'another' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Another plant has this id.').waitFor()
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name: 'another' })
  })

  onPhone('shows the longest name and tag, without a blank in them', async ({ page, service, address }) => {
    await service.create({ id: 9900, name: 'W'.repeat(1000), tag: 'T'.repeat(200) })
    for (const view of ['plant?id=9900', 'scan?id=9900', 'plants?q=www']) {
      await page.goto(`${address}#/${view}`)
      await page.getByText('TTT').first().waitFor()
      await assertFits(page)
    }
  })
})
