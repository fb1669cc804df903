import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { say } from '../../web/src/language/language.ts'
import { openView } from './by-keyboard.ts'
import type { Opened } from './page.ts'
import { bytesOf } from './page-files.ts'
import { type DrawnPage, drawPages } from './pdf-pages.ts'

const DPI = 300
/** Plants with names in several scripts or hard to lay out, and with the smallest and the largest id. */
export const LABELLED = [
  { id: -(2n ** 63n), name: 'Ficus × crème brûlée “Żółw”', tag: 'greenhouse 2' },
  { id: 2n ** 63n - 1n, name: 'שושן צחור (Lilium candidum)', tag: 'גינה' },
  { id: 11n, name: 'وردة دمشقية', tag: undefined },
  { id: 12n, name: 'Ελιά της Καλαμάτας', tag: 'Ήπειρος' },
  { id: 13n, name: '中国水仙', tag: '球根' },
  { id: 14n, name: 'Chlorophytum comosum ‘Vittatum’ '.repeat(9), tag: 'long '.repeat(40) },
  { id: 15n, name: '<b>&amp;', tag: '"' },
]

/** Fills the store of the file once, and opens the view. */
export async function openLabels({ service, page }: Opened): Promise<void> {
  const rows = LABELLED.map(({ id, name, tag }) => `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`)
  const many = Array.from({ length: 1001 }, (_, i) => JSON.stringify({ id: 5000 + i, name: `Seedling ${i}` }))
  await service.importFile([...rows, ...many].join('\n'))
  await openView(page, say('view.labels'))
  await page.getByText(say('labels.chooseFirst')).waitFor()
}

/** Chooses the plants of the list above, one by one. */
export async function choose(page: Page): Promise<void> {
  for (const { id, name } of LABELLED) {
    await page.getByLabel('Search plants').fill(name.slice(0, 200))
    await page
      .locator('.found li', { hasText: String(id) })
      .getByRole('checkbox')
      .check()
  }
  await page.getByText(`${LABELLED.length} labels`, { exact: true }).waitFor()
}

/** Answers the question about codes that lead to this machine alone, which the page asks once. */
export const goOn = (page: Page): Promise<void> => page.getByRole('button', { name: 'Continue all the same' }).click()

export async function save(page: Page, { isAsked = false } = {}): Promise<DrawnPage[]> {
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as PDF' }).click()
  if (isAsked) await goOn(page)
  const file = await download
  assert.equal(file.suggestedFilename(), 'labels.pdf')
  return drawPages(await bytesOf(file), DPI)
}

/** The pages that the browser gives to a printer. */
export async function print(page: Page): Promise<DrawnPage[]> {
  await page.getByRole('button', { name: 'Print', exact: true }).click()
  await page.locator('body[data-asked]').waitFor()
  const pdf = await page.pdf({ preferCSSPageSize: true })
  await page.evaluate(`document.body.removeAttribute('data-asked'), dispatchEvent(new Event('afterprint'))`)
  return drawPages(pdf, DPI)
}

/** Replaces the dialog for printing, which nobody would close. The page asks for it once the size of the sheet is set. */
export const withoutDialog = ({ page }: Opened): Promise<unknown> =>
  page.evaluate(`window.print = () => document.body.setAttribute('data-asked', '')`)
