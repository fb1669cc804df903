import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible } from '../support/accessible.ts'
import { openMenu, pressOn, signOver, untilFocused } from '../support/by-keyboard.ts'
import { type Opened, PHONE, pageTests } from '../support/page.ts'
import { choose, drop } from '../support/page-files.ts'
import { intercept } from '../support/page-network.ts'
import { stored } from '../support/page-plants.ts'
import { SECRET, type Service } from '../support/service.ts'
import { lockOut } from '../support/tokens.ts'

/** Accepts each dialog, and collects their kinds. */
function dialogsOf(page: Page): string[] {
  const kinds: string[] = []
  page.on('dialog', async (dialog) => {
    kinds.push(dialog.type())
    await dialog.accept()
  })
  return kinds
}

/** Plants in each part that the page sends. */
const PART = 5000
const COUNT = PART + 1000

/** Starts an import of two parts, and holds the second part. @returns a function that releases it */
async function startImport({ page }: Opened, name: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let parts = 0
  await intercept(page, '**/plants/import?*dryRun=false*', async (route) => {
    parts += 1
    if (parts === 2) await promise
    // The page may have aborted this request.
    await route.continue().catch(() => {})
  })
  const rows = Array.from({ length: COUNT }, (_, i) => `${name} ${i}`)
  await choose(page, `${name}.csv`, Buffer.from(`name\n${rows.join('\n')}\n`))
  await page.getByRole('button', { name: 'Check the file' }).click()
  await page.getByRole('button', { name: 'Import 6,000 plants' }).click()
  await page.getByText('5,000 of 6,000 plants').waitFor()
  return resolve
}

/** Tries to close the tab, and chooses to stay when the browser asks. */
async function refuseToLeave(page: Page): Promise<void> {
  const [dialog] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })])
  assert.equal(dialog.type(), 'beforeunload')
  await dialog.dismiss()
}

/** The stored plants of an import. */
const countOf = async (service: Service, name: string): Promise<number> =>
  (await service.plants()).filter((plant) => plant.name.startsWith(`${name} `)).length

const progressOf = (page: Page) => page.getByRole('region', { name: 'Import' })

suite('a person who leaves the page', () => {
  const { inBrowser, onPhone } = pageTests()

  inBrowser('is asked first while an edit or a new plant is unsaved', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Larix' })
    const asked = dialogsOf(page)
    await page.reload()
    await page.getByRole('button', { name: 'Edit: 1' }).click()
    await page.reload()
    await page.getByLabel('Name: 1').fill('Larix decidua')
    assert.deepEqual(asked, [], 'nothing was typed')
    // Browsers ask only a person who has interacted with the page.
    await page.getByLabel('Name: 1').click()
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

  onPhone('loses no text typed for the plant of a label', async ({ page, address, service }) => {
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
    assert.deepEqual(await stored(service, 70), ['70 Larix kaempferi (tree)'])
    await page.reload()
    await page.getByRole('gridcell', { name: 'Larix kaempferi' }).waitFor()
    assert.equal(await page.evaluate(`sessionStorage.getItem('plantstore-entered-plants')`), '{}')
    assert.equal(asked.length, 1, 'all is saved')
  })

  onPhone('keeps an import running in another view', async (opened) => {
    const { page, address, service } = opened
    const name = `many${PHONE.width}`
    const goOn = await startImport(opened, name)
    const progress = progressOf(page).getByText('5,000 of 6,000 plants')
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await progress.waitFor()
    await refuseToLeave(page)
    await assertAccessible(page)
    await page.goBack()
    await page.getByRole('heading', { name: `${name}.csv` }).waitFor()
    await page.getByText('5,000 of 6,000 plants').waitFor()
    await drop(page, 'dropped.csv', 'id,name\n7,Dropped\n')
    await page.getByText(`The import of ${name}.csv is not complete. Let it end first.`).waitFor()
    assert.ok(await page.getByLabel('Drop a spreadsheet here').isDisabled())
    await page.goto(`${address}#/plant?id=1`)
    await progress.waitFor()
    goOn()
    await progressOf(page).getByText('is imported').waitFor()
    await pressOn(page, page.getByRole('link', { name: `${name}.csv` }))
    await page.getByRole('heading', { name: 'Imported', exact: true }).waitFor()
    await page.getByText('Added: 6,000').waitFor()
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await page.getByRole('search').waitFor()
    assert.equal(await progressOf(page).count(), 0, 'the report was seen')
    assert.equal(await countOf(service, name), COUNT)
  })

  inBrowser('is asked before signing out, which ends an import and deletes typed text', async (opened) => {
    const { page, service } = opened
    const goOn = await startImport(opened, 'ended')
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await page.getByRole('button', { name: 'Add a plant' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Not added')
    const signOut = page.getByRole('button', { name: 'Sign out', exact: true })
    const dialog = page.getByRole('dialog', { name: 'Sign out all the same?' })
    await openMenu(page)
    await pressOn(page, signOut, 'Space')
    await dialog.getByText('the rest of the import of ended.csv').waitFor()
    await dialog.getByText('the new plant that you have not added').waitFor()
    await page.keyboard.press('Escape')
    await untilFocused(page, signOut)
    await progressOf(page).getByText('5,000 of 6,000 plants').waitFor()
    await page.keyboard.press('Enter')
    await pressOn(page, dialog.getByRole('button', { name: 'Sign out' }))
    await untilFocused(page, page.getByLabel('Access token'))
    goOn()
    await page.keyboard.type(`${SECRET}\n`)
    await page.getByRole('button', { name: 'Add a plant' }).click()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '')
    assert.equal(await progressOf(page).count(), 0)
    assert.equal(await countOf(service, 'ended'), PART)
  })

  inBrowser('continues an import whose token was revoked after signing in again', async (opened) => {
    const { page, service, address } = opened
    const { secret, token } = await service.issueToken(['plants:read', 'plants:write'])
    await signOver(page, address, secret)
    await page.getByText('Signed in as a test').waitFor()
    const goOn = await startImport(opened, 'revoked')
    await lockOut(service, { secret, token })
    goOn()
    await page.getByText('The token has expired or was revoked.').waitFor()
    await untilFocused(page, page.getByLabel('Access token'))
    await page.keyboard.type(`${SECRET}\n`)
    await page.getByRole('heading', { name: 'Imported so far' }).waitFor()
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await progressOf(page).getByText('is imported only in part').waitFor()
    await page.getByRole('link', { name: 'revoked.csv' }).click()
    await pressOn(page, page.getByRole('button', { name: 'Continue' }))
    await page.getByRole('heading', { name: 'Imported', exact: true }).waitFor()
    await page.getByText('Added: 6,000').waitFor()
    // Each token has its own part, and an undo of one alone would be half an undo.
    assert.equal(await page.getByRole('button', { name: 'Undo the import' }).count(), 0)
    assert.equal(await countOf(service, 'revoked'), COUNT)
  })
})
