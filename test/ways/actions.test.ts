import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { assertAtBothSizes } from '../support/accessible.ts'
import { pressOn, signOver } from '../support/by-keyboard.ts'
import { untilKept } from '../support/kept.ts'
import { DESKTOP, type Opened, PHONE, pageTests } from '../support/page.ts'
import { choose, empty } from '../support/page-files.ts'
import { intercept, NO_NETWORK } from '../support/page-network.ts'
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

const names = async (service: Service): Promise<readonly string[]> =>
  (await service.plants()).map(({ name }) => name).toSorted()

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

/** Imports the sheet, and renames its tag. @param isAway whether the network is away when the person begins each */
async function importAndRename({ page, context, address }: Opened, file: string, isAway: boolean): Promise<void> {
  await context.setOffline(isAway)
  await choose(page, file, SHEET)
  await page.getByRole('button', { name: 'Check the file' }).click()
  if (isAway) await page.getByText('The check needs the service. The file stays here').waitFor()
  await context.setOffline(false)
  const parts: string[] = []
  page.on('request', (request) => {
    if (/import\?.*dryRun=false/.test(request.url())) parts.push(request.url())
  })
  await page.getByRole('button', { name: 'Import 2,100 plants' }).click()
  await page.getByRole('heading', { name: 'Imported' }).waitFor()
  assert.equal(parts.length, 3)
  if (isAway) {
    await page.goto(`${address}#/stocktake?tag=bed+1`)
    await page.getByRole('button', { name: 'Begin with the plants that match' }).click()
    await untilKept(page, `${`Salix ${COUNT - 1}`.padEnd(999)}.`)
  }
  await page.getByRole('link', { name: 'Plants', exact: true }).click()
  await page.locator('[role=row][data-id]').first().waitFor()
  await context.setOffline(isAway)
  await page.getByText('Tags', { exact: true }).click()
  await page.getByRole('button', { name: 'Rename: bed 1' }).click()
  await page.getByLabel('New tag').fill('bed 2')
  if (isAway) await page.getByText('These are only the plants that this device has seen.').waitFor()
  await page.getByRole('button', { name: 'Change 2,100 plants' }).click()
  const done = isAway ? '2,100 plants wait on this device' : 'Set the tag bed 2 for 2,100 plants'
  await page.locator('.notice').getByText(done).waitFor()
  await context.setOffline(false)
  await page.locator('.waiting-line a').waitFor({ state: 'detached' })
}

/** What another device shows, in its language. */
const DEVICES = [
  {
    viewport: DESKTOP,
    locale: 'en-GB',
    link: 'Last actions',
    undo: (title: string) => new RegExp(`^Undo: ${title}, `),
    sure: 'Undo for 2,100 plants',
    renamed: 'Rename the tag: bed 1 → bed 2',
    counts: ['2,100 plants changed', '2,100 plants added'],
    begins: 'begun with a network',
  },
  {
    viewport: PHONE,
    locale: 'de-DE',
    link: 'Letzte Aktionen',
    undo: (title: string) => new RegExp(`^Rückgängig: ${title}, `),
    sure: 'Rückgängig für 2.100 Pflanzen',
    renamed: 'Rename the tag: bed 1 → bed 2',
    counts: ['2.100 Pflanzen geändert', '2.100 Pflanzen hinzugefügt'],
    begins: 'begun without one',
  },
]

suite('the page, for the last actions,', () => {
  const { inBrowser, onPhone } = pageTests()

  for (const { viewport, locale, link, undo, sure, renamed, counts, begins } of DEVICES) {
    inBrowser(
      `takes back an import of three parts and a rename of its tag, ${begins}, in 5 clicks, on another device whose clock is a day behind, in ${locale} at ${viewport.width} pixels`,
      { expected: NO_NETWORK, remembers: SECRET },
      async (opened) => {
        const { service } = opened
        await empty(service)
        const file = `spring ${viewport.width}.csv`
        await importAndRename(opened, file, begins === 'begun without one')

        const other = await anotherDevice(opened, { viewport, locale })
        const asked: string[] = []
        other.page.on('request', (request) => {
          if (/\/(actions|changes)\b/.test(request.url())) asked.push(new URL(request.url()).pathname)
        })
        await other.click(other.page.getByRole('link', { name: link }))
        const dialog = other.page.getByRole('dialog')
        for (const [i, title] of [renamed, file].entries()) {
          const row = other.page.locator('.actions li', { has: other.page.getByRole('button', { name: undo(title) }) })
          await row.getByText(counts[i] ?? '').waitFor()
          if (i === 0)
            assert.deepEqual(
              asked.filter((path) => path === '/actions'),
              ['/actions'],
            )
          await assertAtBothSizes(other.page)
          await other.click(row.getByRole('button'))
          const go = dialog.getByRole('button', { name: sure })
          await go.waitFor()
          await assertAtBothSizes(other.page)
          await other.click(go)
          await dialog.waitFor({ state: 'detached' })
          await row.waitFor({ state: 'detached' })
          const tags = new Set((await service.plants()).map(({ tag }) => tag))
          assert.deepEqual([...tags], i === 0 ? ['bed 1'] : [])
        }
        assert.equal(other.clicks(), 5)
      },
    )
  }

  onPhone(
    `undoes another one's import, leaves what was changed since, and undoes the undo, by keyboard alone`,
    async ({ page, service, address }) => {
      const count = 130
      await empty(service)
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
      assert.deepEqual(await names(service), ['Between', 'Changed since'])
      await pressOn(page, dialog.getByRole('button', { name: 'Close' }))
      await page.getByText(/^Undone .* by own$/).waitFor()
      await pressOn(page, undoOf(page, `Undone: ${count} plants added`))
      await dialog.getByText(`${count - 1} deleted plants come back.`).waitFor()
      await pressOn(page, dialog.getByRole('button', { name: `Undo for ${count - 1} plants` }))
      await dialog.waitFor({ state: 'detached' })
      await page.getByText(`Redone: ${count} plants added`).waitFor()
      assert.equal(await page.getByText(/^Undone .* by own$/).count(), 1, 'the undo is undone, and not the import')
      assert.equal((await service.plants()).length, count + 1)
    },
  )

  inBrowser('takes back several changes of a plant at once, from its history', async ({ page, service, address }) => {
    await empty(service)
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
    await empty(service)
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
    await empty(service)
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

suite('the page, for a service without a log of changes,', () => {
  const { inBrowser } = pageTests({ settings: async () => ({ changesKeep: '0s' }) })

  inBrowser('says that there are no actions', async ({ page, address }) => {
    await page.goto(`${address}#/actions`)
    await page.getByText('This service keeps no log of changes (--changes-keep).').waitFor()
  })
})
