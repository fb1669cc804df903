import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { say } from '../../web/src/language/language.ts'
import { until } from './page.ts'
import type { Service } from './service.ts'

type Id = number | string

/** The row of a plant in a table of the page. */
export const rowOf = (page: Page, id: Id): Locator => page.locator(`[role=row][data-id="${id}"]`)

/** Waits until the table has exactly these rows. */
export const untilShown = (page: Page, ids: readonly (Id | undefined)[]): Promise<void> =>
  until(
    page,
    `[...document.querySelectorAll('[role=row][data-id]')].map(({ dataset }) => dataset.id).join() === '${ids}'`,
  )

/** Waits until the page says this. */
export const line = (page: Page, text: string): Promise<void> => page.getByText(text).waitFor()

export const dialogOf = (page: Page): Locator => page.getByRole('dialog')

/** Waits until no change waits for the service. */
export const nothingWaits = (page: Page): Promise<void> =>
  page.locator('.waiting-line a').waitFor({ state: 'detached' })

/** Adds plants, each a line of NDJSON. */
export async function addRows(service: Service, rows: readonly string[]): Promise<void> {
  const answer = await service.importFile(rows.join('\n'))
  assert.match(answer.body, new RegExp(`"added":${rows.length}`))
}

/** Adds plants with consecutive ids and this word in their names. */
export const fill = (service: Service, first: number, count: number, word: string, tag?: string): Promise<void> =>
  addRows(
    service,
    Array.from({ length: count }, (_, i) => JSON.stringify({ id: first + i, name: `${word} ${i}`, tag })),
  )

/** Gives a plant another name in the table, by keyboard. */
export async function rename(page: Page, id: Id, name: string): Promise<void> {
  await rowOf(page, id).press('Enter')
  const field = page.getByLabel(say('page.about', { what: say('plants.name'), of: String(id) }))
  await field.fill(name)
  await page.keyboard.press('Enter')
  await field.waitFor({ state: 'detached' })
}

/** What the service has under an id; undefined for no plant. */
export async function storedPlant(service: Service, id: Id): Promise<unknown> {
  const { status, json } = await service.send('GET', `/plants/${id}`)
  return status === 404 ? undefined : json
}

/** Changes a plant, as another client does. */
export const patchPlant = (service: Service, id: Id, members: object): ReturnType<Service['send']> =>
  service.sendJson('PATCH', `/plants/${id}`, members)
