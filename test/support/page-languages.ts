import type { Page } from 'playwright-core'
import { SECRET, type Service } from './service.ts'

/** Texts without English letters, so that these stand out. */
const PLANTS: readonly { id: number; name: string; tag?: string }[] = [
  { id: 1, name: 'Ρόδον', tag: 'θάμνος' },
  { id: 2, name: 'Ρόδον' },
  { id: 3, name: 'Ἄβρωτον', tag: 'πόα' },
]

/** Stores the plants as one action, each with a history, and deletes another one. */
export async function plantSome(service: Service): Promise<void> {
  const headers = { 'Plantstore-Action': 'some', 'Plantstore-Action-Title': encodeURIComponent('ἔαρ') }
  for (const { id, ...plant } of PLANTS) {
    await service.sendJson('PUT', `/plants/${id}`, { ...plant, name: 'Ἄλλο' }, { headers })
    await service.sendJson('PUT', `/plants/${id}`, plant, { headers })
  }
  await service.sendJson('PUT', '/plants/4', { name: 'Ἴον', tag: 'πόα' })
  await service.send('DELETE', '/plants/4')
}

/** Called at each stop of a tour. */
type Look = (what: string) => Promise<void>

/** Leads through all views and their dialogs, in any language: it finds everything by what no language changes. */
export async function tour(page: Page, address: string, look: Look): Promise<void> {
  const open = async (view: string, sign: string) => {
    await page.goto(`${address}#/${view}`)
    await page.locator(sign).first().waitFor()
  }
  const visit = async (view: string, sign: string, what: string) => {
    await open(view, sign)
    await look(what)
  }
  const stop = async (sign: string, what: string) => {
    await page.locator(sign).first().waitFor()
    await look(what)
  }
  const close = async () => {
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
  }
  await visit('plants', '[role=row][data-id]', 'plants')
  await page.locator('.toolbar > button.primary').click()
  await stop('form.add', 'a new plant')
  await page.locator('.tool-switch').click()
  for (const panel of await page.locator('.toolbar details').all()) {
    await panel.locator('summary').click()
    await look('a panel')
    await page.keyboard.press('Escape')
  }
  await page.locator('[role=row][data-id] input[type=checkbox]').first().check()
  await stop('.selection', 'a selection')
  await page.locator('.selection > button').first().click()
  await stop('dialog form', 'a dialog of a selection')
  await close()
  const menu = page.locator('.selection .further')
  for (const i of [0, 2, 3, 4]) {
    await menu.locator('summary').click()
    await look('the menu of a selection')
    await menu.locator('button').nth(i).click()
    await stop('dialog form', `dialog ${i} of the menu of a selection`)
    await close()
  }
  await page.locator('[role=row][data-id="3"]').focus()
  await page.keyboard.press('Enter')
  await stop('.editing textarea', 'an edit')
  await page.locator('.editing textarea').first().fill('Ἄκανθα')
  const others = { headers: { Authorization: `Bearer ${SECRET}` }, data: { tag: 'δένδρον' } }
  await page.request.patch(`${address}plants/3`, others)
  await page.locator('.editing textarea').first().press('Enter')
  await stop('dialog .versions', 'a conflict')
  await close()
  await page.locator('.editing textarea').first().press('Escape')
  await visit('plant?id=1', '.history li', 'a plant')
  await visit('plant?id=999', 'form #new-name', 'a plant to enter')
  await visit('nowhere', 'main h1', 'no view')
  await visit('waiting', 'main h1', 'what waits')
  await visit('duplicates', '.duplicates', 'duplicates')
  await visit('actions', '.actions li', 'the last actions')
  await page.locator('.actions button').first().click()
  await stop('dialog p:not([role=status])', 'an undo')
  await close()
  await open('plants?sort=-changed', '[role=row] time')
  // The service counts, as this order may lack some plants.
  await page.locator('.matches [role=status]:not(:empty)').waitFor()
  await look('plants by their last change')
  await visit('deleted', '.deleted li', 'what is deleted')
  await open('labels?id=1', 'svg.sheet')
  await page.locator('#sheet-kind').selectOption('own')
  await page.locator('.labels details summary').first().click()
  await page.locator('#label-width').fill('1')
  await stop('.note.bad', 'labels')
  await open('scan', '#label-code')
  await page.locator('#label-code').fill('γ')
  await page.keyboard.press('Enter')
  await stop('.foreign-code', 'a code that is no label')
  await visit('stocktake', '#stocktake-search', 'the choice of a stocktake')
  await page.locator('p.fields button.primary').click()
  await stop('.stock', 'a stocktake')
  await visit('import', '#file', 'an import')
  const buffer = Buffer.from('1;Ρόδον\n1;Ἄβρωτον\nx;Ἄκανθα\n')
  await page.locator('#file').setInputFiles({ name: 'φυτά.csv', mimeType: 'text/csv', buffer })
  await page.locator('.columns select').nth(1).selectOption('0')
  await page.locator('.columns select').nth(2).selectOption('1')
  await stop('.columns table', 'columns of an import')
  await page.locator('.columns + div button.primary').click()
  await stop('.figures', 'a check of an import')
  await open('tokens', '#token-name')
  await page.locator('#token-name').fill('κλείς')
  await page.locator('form.new-token button[type=submit]').click()
  await stop('.secret', 'a secret')
  for (const button of await page.locator('.tokens li').last().locator('button').all()) {
    await button.click()
    await stop('dialog', 'a question about a token')
    await close()
  }
  await page.locator('.account > summary').click()
  await look('the menu')
  await page.locator('.account .panel > button').last().click()
  await stop('dialog ul', 'a question before signing out')
  await close()
  await page.keyboard.press('Escape')
  const tabs = await page
    .locator('header > nav a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
  for (const tab of tabs) {
    await page.goto(`${address}${tab}`)
    await page.locator(`header > nav a[href="${tab}"][aria-current]`).waitFor({ state: 'attached' })
    await look('a view')
  }
}
