import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { assertAtBothSizes } from '../support/accessible.ts'
import { pressOn, signOver } from '../support/by-keyboard.ts'
import { untilKept } from '../support/kept.ts'
import { type Opened, PHONE, pageTests } from '../support/page.ts'
import { choose, empty } from '../support/page-files.ts'
import { askedBy, intercept, NO_NETWORK } from '../support/page-network.ts'
import { line, storedNames, untilSent } from '../support/page-plants.ts'
import { SECRET, type Service } from '../support/service.ts'
import { as, createdToken } from '../support/tokens.ts'

const WRITER = { name: 'helper', scopes: ['plants:read', 'plants:write'] }

type Sent = { readonly id: number; readonly name: string; readonly tag?: string }

interface Importing {
  readonly secret?: string
  readonly mode?: string
  readonly action?: string
}

/** Imports plants, as another client does. */
async function importPlants(service: Service, plants: readonly Sent[], importing: Importing = {}): Promise<void> {
  const { secret, mode = 'add', action } = importing
  const headers = action === undefined ? {} : { 'Plantstore-Action': action }
  const body = plants.map((plant) => JSON.stringify(plant)).join('\n')
  const sending = { headers, query: `?mode=${mode}`, ...(secret === undefined ? {} : as(secret)) }
  const answer = await service.importFile(body, sending)
  assert.match(answer.body, /"refused":0/)
}

const some = (count: number, name: string, tag?: string): Sent[] =>
  Array.from({ length: count }, (_, i) => ({ id: i + 1, name: `${name} ${i}`, ...(tag === undefined ? {} : { tag }) }))

const rename = (service: Service, id: number, name: string) => service.sendJson('PATCH', `/plants/${id}`, { name })

const open = async (page: Page): Promise<void> => {
  await pressOn(page, page.getByRole('link', { name: 'Last actions' }))
  await page.getByRole('heading', { name: 'Last actions' }).waitFor()
}

const undoOf = (page: Page, action: string): Locator =>
  page.getByRole('button', { name: new RegExp(`^Undo: ${action}, `) })

/** Another device of the person. @returns the page, and a click that counts */
async function anotherDevice({ context, address, t }: Opened, options: BrowserContextOptions) {
  const browser = context.browser() ?? assert.fail()
  const other = await browser.newContext({ serviceWorkers: 'block', reducedMotion: 'reduce', ...options })
  t.after(() => other.close())
  const page = await other.newPage()
  let clicks = 0
  const click = async (target: Locator) => {
    clicks += 1
    await target.click()
  }
  await page.clock.install({ time: Date.now() - 24 * 60 * 60 * 1000 })
  await page.goto(`${address}#token=${SECRET}`)
  await page.locator('main:not([aria-busy])').waitFor()
  return { page, click, clicks: () => clicks }
}

const COUNT = 2100
/** Its texts fill three requests. */
const SHEET = Buffer.from(
  ['name,tag', ...some(COUNT, 'Salix').map(({ name }) => `${name.padEnd(999)}.,bed 1`)].join('\n'),
)

const FILE = 'spring.csv'
const AWAY = { expected: NO_NETWORK, remembers: SECRET }

/** Imports the sheet, and renames its tag. The network is away when the person begins each. */
async function importAndRename({ page, context, address }: Opened): Promise<void> {
  await context.setOffline(true)
  await choose(page, FILE, SHEET)
  await page.getByRole('button', { name: 'Check the file' }).click()
  await line(page, 'The check needs the service. The file stays here')
  await context.setOffline(false)
  const asked = askedBy(page)
  await page.getByRole('button', { name: 'Import 2,100 plants' }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  assert.equal(asked.filter((url) => /import\?.*dryRun=false/.test(url)).length, 3)
  await page.goto(`${address}#/stocktake?tag=bed+1`)
  await page.getByRole('button', { name: 'Begin with the plants that match' }).click()
  await untilKept(page, `${`Salix ${COUNT - 1}`.padEnd(999)}.`)
  await page.getByRole('link', { name: 'Plants', exact: true }).click()
  await page.locator('[role=row][data-id]').first().waitFor()
  await context.setOffline(true)
  await page.getByText('Tags', { exact: true }).click()
  await page.getByRole('button', { name: 'Rename: bed 1' }).click()
  await page.getByLabel('New tag').fill('bed 2')
  await line(page, 'These are only the plants that this device has seen.')
  await page.getByRole('button', { name: 'Change 2,100 plants' }).click()
  await line(page.locator('.notice'), '2,100 plants wait on this device')
  await untilSent(page)
}

suite('the page, for the last actions,', () => {
  const { inBrowser, onPhone } = pageTests({ begin: ({ service }) => empty(service) })

  inBrowser('takes back an import and a rename in 5 clicks, where the clock is a day behind', AWAY, async (opened) => {
    const { service } = opened
    await importAndRename(opened)
    const other = await anotherDevice(opened, { viewport: PHONE, locale: 'de-DE' })
    const asked = askedBy(other.page)
    await other.click(other.page.getByRole('link', { name: 'Letzte Aktionen' }))
    const dialog = other.page.getByRole('dialog')
    for (const [title, counts, left] of [
      ['Rename the tag: bed 1 → bed 2', '2.100 Pflanzen geändert', ['bed 1']],
      [FILE, '2.100 Pflanzen hinzugefügt', []],
    ] as const) {
      const undo = other.page.getByRole('button', { name: new RegExp(`^Rückgängig: ${title}, `) })
      const row = other.page.locator('.actions li', { has: undo })
      await line(row, counts)
      if (title !== FILE) assert.equal(asked.filter((url) => new URL(url).pathname === '/actions').length, 1)
      await other.click(undo)
      await other.click(dialog.getByRole('button', { name: 'Rückgängig für 2.100 Pflanzen' }))
      await dialog.waitFor({ state: 'detached' })
      await row.waitFor({ state: 'detached' })
      assert.deepEqual([...new Set((await service.plants()).map(({ tag }) => tag))], left)
    }
    assert.equal(other.clicks(), 5)
  })

  onPhone('undoes the import of others but what changed since, and undoes the undo, by keyboard', async (opened) => {
    const { page, service, address } = opened
    const count = 130
    const own = await createdToken(service, { ...WRITER, name: 'own' })
    await signOver(page, address, own.secret)
    const helper = await createdToken(service, WRITER)
    await importPlants(service, some(count, 'Salix'), helper)
    await service.create({ id: 900, name: 'Between' })
    await rename(service, 7, 'Changed since')
    await page.reload()
    await open(page)
    const undo = undoOf(page, `${count} plants added`)
    await undo.waitFor()
    await page.getByText(helper.id).first().waitFor()
    await pressOn(page, undo)
    const dialog = page.getByRole('dialog')
    await dialog.getByText(`${count - 1} plants that were added are deleted.`).waitFor()
    await dialog.getByText('1 plant stays as it is.').waitFor()
    await dialog.getByText('7 Changed since. Somebody has changed or deleted it meanwhile.').waitFor()
    await assertAtBothSizes(page)
    await pressOn(page, dialog.getByRole('button', { name: `Undo for ${count - 1} plants` }))
    await dialog.getByText(`Undone for ${count - 1} plants.`).waitFor()
    await dialog.getByText('7 Changed since. Somebody has changed or deleted it meanwhile.').waitFor()
    await assertAtBothSizes(page)
    assert.deepEqual((await storedNames(service)).toSorted(), ['Between', 'Changed since'])
    await pressOn(page, dialog.getByRole('button', { name: 'Close' }))
    await page.getByText(/^Undone .* by own$/).waitFor()
    await pressOn(page, undoOf(page, `Undone: ${count} plants added`))
    await dialog.getByText(`${count - 1} deleted plants come back.`).waitFor()
    await pressOn(page, dialog.getByRole('button', { name: `Undo for ${count - 1} plants` }))
    await dialog.waitFor({ state: 'detached' })
    await page.getByText(`Redone: ${count} plants added`).waitFor()
    assert.equal(await page.getByText(/^Undone .* by own$/).count(), 1, 'the undo is undone, and not the import')
    assert.equal((await service.plants()).length, count + 1)
  })

  inBrowser('takes back several changes of a plant at once, from its history', async ({ page, service, address }) => {
    await importPlants(service, some(50, 'Acer', 'old'))
    await importPlants(service, some(50, 'Acer', 'new'), { mode: 'update', action: 'retag' })
    await importPlants(service, some(20, 'Acer', 'newer'), { mode: 'update', action: 'retag' })
    await page.goto(`${address}#/plant?id=1`)
    await page.getByRole('button', { name: 'Undo the whole action' }).first().click()
    await page.getByText('50 plants get their earlier names and tags.').waitFor()
    await page.getByRole('button', { name: 'Undo for 50 plants' }).click()
    await page.locator('.notice').getByText('Undone for 50 plants.').waitFor()
    assert.ok((await service.plants()).every(({ tag }) => tag === 'old'))
    await page.goto(`${address}#/actions`)
    await page.getByText('Undone: 70 plants changed').waitFor()
    // Each plant was changed once by the undo, and twice by the action, so only the service knows that nothing is left.
    await undoOf(page, '70 plants changed').click()
    await page.getByRole('dialog').getByText('There is nothing to undo.').waitFor()
  })

  inBrowser('shows how far an undo is, stops it, and goes on with it', async ({ page, service, address }) => {
    await importPlants(service, some(5000, 'Rubus'), await createdToken(service, WRITER))
    await page.goto(`${address}#/actions`)
    await undoOf(page, '5,000 plants added').click()
    const answered = Promise.withResolvers<void>()
    const ids = new Set<string | undefined>()
    const end = await intercept(page, /\/undo$/, async (route) => {
      ids.add(route.request().headers()['plantstore-action'])
      // The service has done its work, and its answer is on its way.
      await route.fetch()
      await answered.promise
      await route.abort().catch(() => {})
    })
    await page.getByRole('button', { name: 'Undo for 5,000 plants' }).click()
    await page.getByRole('dialog').getByText('5,000 of 5,000 plants').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('alert').filter({ hasText: 'The undo stopped before its end.' }).waitFor()
    answered.resolve()
    await end()
    page.on('request', (request) => {
      if (request.url().endsWith('/undo')) ids.add(request.headers()['plantstore-action'])
    })
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.locator('.notice').getByText('Undone for 5,000 plants.').waitFor()
    assert.equal(ids.size, 1, 'it is the same undo')
    assert.deepEqual(await service.plants(), [])
  })

  inBrowser('shows more on demand, and offers no undo without the right', async ({ page, service, address }) => {
    for (let i = 0; i < 51; i++) await importPlants(service, [{ id: 1, name: `Vitis ${i}` }], { mode: 'update' })
    const reader = await createdToken(service, { name: 'reader', scopes: ['plants:read'] })
    await signOver(page, address, reader.secret)
    await page.goto(`${address}#/actions`)
    const rows = page.locator('.actions li')
    await rows.nth(49).waitFor()
    assert.equal(await rows.count(), 50)
    await page.getByRole('button', { name: 'Show more' }).click()
    await rows.nth(50).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Undo/ }).count(), 0)
  })
})
