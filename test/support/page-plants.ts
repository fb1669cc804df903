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

/** Waits until the page, or a part of it, says this. */
export const line = (part: Page | Locator, text: string | RegExp): Promise<void> => part.getByText(text).waitFor()

export const dialogOf = (page: Page): Locator => page.getByRole('dialog')

/** Waits until no change waits for the service. */
export const nothingWaits = (page: Page): Promise<void> =>
  page.locator('.waiting-line a').waitFor({ state: 'detached' })

/** Takes the network away, once the page shows these plants. */
export async function loseNetwork(page: Page, ...ids: readonly Id[]): Promise<void> {
  await page.reload()
  for (const id of ids) await rowOf(page, id).waitFor()
  await page.context().setOffline(true)
}

/** Gives the network back, and waits until no change waits. */
export async function untilSent(page: Page): Promise<void> {
  await page.context().setOffline(false)
  await nothingWaits(page)
}

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

/** Adds a plant in the form above the table, which stays open. @param id which the person types in place of the proposed one */
export async function addPlant(page: Page, name: string, id?: Id): Promise<void> {
  const text = page.getByLabel('Name', { exact: true })
  if ((await text.count()) === 0) await page.getByRole('button', { name: 'Add a plant' }).click()
  if (id !== undefined) {
    const field = page.getByLabel('Id', { exact: true })
    if ((await field.count()) === 0) await page.getByRole('button', { name: 'Change the id' }).click()
    await field.fill(String(id))
  }
  await text.fill(name)
  await text.press('Enter')
}

const textOf = ({ name, tag }: { readonly name: string; readonly tag: string | null }): string =>
  tag === null ? name : `${name} (${tag})`

/** The stored plants in the order of their ids, each with its tag in brackets. */
export const storedNames = async (service: Service): Promise<string[]> => (await service.plants()).map(textOf)

/** The stored plants with these ids, or all, in the order of their ids: each as its id, its name, and its tag in brackets. */
export async function stored(service: Service, ...ids: readonly Id[]): Promise<string[]> {
  const wanted = new Set(ids.map(String))
  const plants = (await service.plants()).filter(({ id }) => wanted.size === 0 || wanted.has(String(id)))
  return plants.map((plant) => `${plant.id} ${textOf(plant)}`)
}

/** What the service has under an id; undefined for no plant. */
export async function storedPlant(service: Service, id: Id): Promise<unknown> {
  const { status, json } = await service.send('GET', `/plants/${id}`)
  return status === 404 ? undefined : json
}

/** Changes a plant, as another client does. */
export const patchPlant = (service: Service, id: Id, members: object): ReturnType<Service['send']> =>
  service.sendJson('PATCH', `/plants/${id}`, members)
