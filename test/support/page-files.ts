import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import type { Download, Page } from 'playwright-core'
import { openView, pressOn } from './by-keyboard.ts'
import type { Opened } from './page.ts'
import type { Service } from './service.ts'
import { linesIn } from './workbook.ts'

/** Opens a file in the view of imports. */
export async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
  await openView(page, 'Import')
  await page.getByLabel('Drop a spreadsheet here').setInputFiles({ name, mimeType: 'text/csv', buffer })
}

/** Drops a file on the view of imports, once it is there. */
export async function drop(page: Page, name: string, text: string): Promise<void> {
  await page.locator('#file').waitFor({ state: 'attached' })
  await page.evaluate(`{
    const moved = new DataTransfer()
    moved.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}, { type: 'text/csv' }))
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: moved, bubbles: true, cancelable: true }))
  }`)
}

export const empty = async (service: Service): Promise<void> => {
  for (const { id } of await service.plants()) await service.send('DELETE', `/plants/${id}`)
}

export const importAll = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: /^Check the (file|rows)$/ }).click()
  await page.getByRole('button', { name: /^Import [\d,]+ plants?$/ }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
}

/** The bytes of a saved file. The browser may be another process's, so its path is none here. */
export const bytesOf = async (download: Download): Promise<Buffer> => buffer(await download.createReadStream())

/** The file that a button saves. */
export async function savedFile(page: Page, button: string) {
  const download = page.waitForEvent('download')
  await pressOn(page, page.getByRole('button', { name: button }))
  const file = await download
  return { name: file.suggestedFilename(), bytes: await bytesOf(file) }
}

/** The text of the file that a button saves. */
export const saved = async ({ page }: Opened, button: string): Promise<string> =>
  String((await savedFile(page, button)).bytes)

/** The lines of the workbook with ids that the page saves. */
export async function savedWithIds({ page }: Opened): Promise<readonly string[]> {
  const { name, bytes } = await savedFile(page, 'Save the sheet with its new ids')
  assert.match(name, /-with-ids\.xlsx$/)
  return linesIn(bytes)
}
