import type { Locator, Page } from 'playwright-core'
import { say } from '../../web/src/language/language.ts'
import type { Service } from './service.ts'

type Id = number | string

/** The row of a plant in a table of the page. */
export const rowOf = (page: Page, id: Id): Locator => page.locator(`[role=row][data-id="${id}"]`)

/** Gives a plant another name in the table, by keyboard. */
export async function rename(page: Page, id: Id, name: string): Promise<void> {
  await rowOf(page, id).press('Enter')
  const field = page.getByLabel(say('plants.nameOf', { id: String(id) }))
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
  service.send('PATCH', `/plants/${id}`, {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(members),
  })
