import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import type { ChangeEntry } from '../../client/src/index.ts'
import { LastActions } from '../../web/src/actions/last-actions.ts'
import { assertAtBothSizes, intercept, openTools, PHONE, pageTests, pressOn, signOver } from '../support/page.ts'
import { empty } from '../support/page-files.ts'
import type { Service } from '../support/service.ts'
import { as, createdToken } from '../support/tokens.ts'

const WRITER = { name: 'helper', scopes: ['plants:read', 'plants:write'] }

type Sent = { readonly id: number; readonly name: string; readonly tag?: string }

async function importPlants(service: Service, plants: readonly Sent[], secret?: string, mode = 'add'): Promise<void> {
  const headers = { 'Content-Type': 'application/x-ndjson' }
  const body = plants.map((plant) => JSON.stringify(plant)).join('\n')
  const sending = { headers, body, ...(secret === undefined ? {} : as(secret)) }
  const answer = await service.send('POST', `/plants/import?mode=${mode}`, sending)
  assert.match(answer.body, /"refused":0/)
}

const some = (count: number, name: string, tag?: string): Sent[] =>
  Array.from({ length: count }, (_, i) => ({ id: i + 1, name: `${name} ${i}`, ...(tag === undefined ? {} : { tag }) }))

const rename = (service: Service, id: number, name: string) =>
  service.send('PATCH', `/plants/${id}`, {
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: JSON.stringify({ name }),
  })

const open = async (page: Page): Promise<void> => {
  await openTools(page)
  await pressOn(page, page.getByRole('link', { name: 'Last actions' }))
  await page.getByRole('heading', { name: 'Last actions' }).waitFor()
}

const undoOf = (page: Page, action: string): Locator =>
  page.getByRole('button', { name: new RegExp(`^Undo: ${action}, `) })

const names = async (service: Service): Promise<readonly string[]> =>
  (await service.plants()).map(({ name }) => name).toSorted()

suite('the page tells the actions in a log of changes', () => {
  const NOW = Date.now()
  let place = 0
  const changes = (token: string, seconds: number, count = 1, type: ChangeEntry['type'] = 'plant.created') =>
    Array.from({ length: count }, (): ChangeEntry => {
      place += 1
      const time = new Date(NOW - 100_000 + seconds * 1000).toISOString()
      return { position: `p${place + 1_000_000}`, type, time, plant: { id: BigInt(place), name: `n${place}` }, token }
    })
  const found = (...entries: readonly ChangeEntry[][]): readonly (readonly [string, number])[] => {
    const actions = new LastActions()
    for (const part of entries) actions.add(part)
    return actions.actions.value.map(({ token, counts }) => [token, Object.values(counts).reduce((a, b) => a + b)])
  }

  test('by their tokens, also where others write between', () => {
    assert.deepEqual(found(changes('a', 0, 10), changes('b', 0, 2), changes('a', 1, 10), changes('b', 2, 1)), [
      ['b', 3],
      ['a', 20],
    ])
  })

  test('by pauses, and without single changes', () => {
    assert.deepEqual(found(changes('a', 0, 10), changes('a', 4), changes('a', 8, 2)), [
      ['a', 2],
      ['a', 10],
    ])
  })

  test('as one where large parts of an import come late, but not where a single change does', () => {
    assert.deepEqual(found(changes('a', 0, 1000), changes('a', 10, 1000), changes('a', 20, 300), changes('a', 26, 3)), [
      ['a', 3],
      ['a', 2300],
    ])
    assert.deepEqual(found(changes('a', 0, 1000), changes('a', 20, 1000)), [
      ['a', 1000],
      ['a', 1000],
    ])
  })

  test('of the last 30 days alone, by the clock of the service', () => {
    assert.deepEqual(found(changes('a', -31 * 24 * 3600, 10), changes('a', 0, 2)), [['a', 2]])
    const days = 40 * 24 * 3600
    assert.deepEqual(
      found(changes('a', -days, 10), changes('a', 1 - days, 2)),
      [['a', 12]],
      'the device is 40 days ahead',
    )
  })

  test('as two where the second takes the first back, though it follows at once', () => {
    const tagged = (tag: string | undefined, before: string | undefined, seconds: number) =>
      changes('a', seconds, 300, 'plant.updated').map((entry, i): ChangeEntry => {
        const plant = (text: string | undefined) => ({
          id: BigInt(i),
          name: 'n',
          ...(text === undefined ? {} : { tag: text }),
        })
        return { ...entry, plant: plant(tag), before: plant(before) }
      })
    for (const pause of [1, 10]) {
      assert.deepEqual(found(tagged('new', 'old', 0), tagged('old', 'new', pause)), [
        ['a', 300],
        ['a', 300],
      ])
    }
  })
})

suite('the page, for the last actions,', () => {
  const inBrowser = pageTests()

  inBrowser(
    `undoes another one's import, leaves what was changed since, and undoes the undo, by keyboard alone, at ${PHONE.width} pixels`,
    async ({ page, service, address }) => {
      const count = 130
      await empty(service)
      const own = await createdToken(service, { ...WRITER, name: 'own' })
      await signOver(page, address, own.secret)
      const helper = await createdToken(service, WRITER)
      const plants = some(count, 'Salix')
      await importPlants(service, plants, helper.secret)
      await service.create({ id: 900, name: 'Between' })
      await rename(service, 7, 'Changed since')
      await page.reload()
      await open(page)
      const undo = undoOf(page, `${count} plants added`)
      await undo.waitFor()
      await page.getByText(helper.id).first().waitFor()
      await assertAtBothSizes(page)
      await pressOn(page, undo)
      const dialog = page.getByRole('dialog')
      await dialog.getByText(`${count} plants that were added are deleted.`).waitFor()
      await assertAtBothSizes(page)
      await pressOn(page, dialog.getByRole('button', { name: `Undo for ${count} plants` }))
      await dialog.getByText(`Undone for ${count - 1} plants.`).waitFor()
      await dialog.getByText('7 Salix 6. Somebody has changed or deleted it meanwhile.').waitFor()
      await assertAtBothSizes(page)
      assert.deepEqual(await names(service), ['Between', 'Changed since'])
      await pressOn(page, dialog.getByRole('button', { name: 'Close' }))
      await page.getByText('by own').waitFor()
      await pressOn(page, undoOf(page, `${count - 1} plants deleted`))
      await dialog.getByText(`${count - 1} deleted plants come back.`).waitFor()
      await pressOn(page, dialog.getByRole('button', { name: `Undo for ${count - 1} plants` }))
      await dialog.getByText(`Undone for ${count - 1} plants.`).waitFor()
      assert.equal((await service.plants()).length, count + 1)
    },
    { viewport: PHONE },
  )

  inBrowser('shows nothing that it has read in part, on a device whose clock is a day behind', async (opened) => {
    const { page, service } = opened
    await empty(service)
    const count = 2000
    const { secret } = await createdToken(service, WRITER)
    await importPlants(service, some(count, 'Tilia'), secret)
    await page.clock.install({ time: Date.now() - 24 * 60 * 60 * 1000 })
    await page.reload()
    let pages = 0
    const { promise: asked, resolve: answer } = Promise.withResolvers<void>()
    await intercept(page, /\/changes\?/, async (route) => {
      if (route.request().headers()['accept'] === 'text/event-stream') return route.continue()
      pages += 1
      if (pages === 2) await asked
      await route.continue()
    })
    await open(page)
    await page.getByText(/^Reading the changes… [1-9]/).waitFor()
    assert.equal(await page.locator('.actions li').count(), 0)
    answer()
    await undoOf(page, '2,000 plants added').waitFor()
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await open(page)
    await undoOf(page, '2,000 plants added').waitFor()
  })

  inBrowser('gives changed plants their earlier tags, one undo for several changes of a plant', async (opened) => {
    const { page, service } = opened
    await empty(service)
    await importPlants(service, some(50, 'Acer', 'old'))
    const helper = await createdToken(service, WRITER)
    await importPlants(service, some(50, 'Acer', 'new'), helper.secret, 'update')
    await importPlants(service, some(20, 'Acer', 'newer'), helper.secret, 'update')
    await page.reload()
    await open(page)
    await page.getByText('by helper').first().waitFor()
    await undoOf(page, '70 plants changed').click()
    await page.getByText('50 plants get their earlier names and tags.').waitFor()
    await page.getByRole('button', { name: 'Undo for 50 plants' }).click()
    await page.getByText('Undone for 50 plants.').waitFor()
    assert.ok((await service.plants()).every(({ tag }) => tag === 'old'))
    await page.getByRole('button', { name: 'Close' }).click()
    await undoOf(page, '70 plants changed').click()
    await page.getByRole('button', { name: 'Undo for 50 plants' }).click()
    await page.getByText('Undone for 50 plants.').waitFor()
    assert.ok(
      (await service.plants()).every(({ tag }) => tag === 'old'),
      'a repeated undo changes nothing',
    )
  })

  inBrowser('stops an undo, and goes on with the rest', async ({ page, service }) => {
    await empty(service)
    const helper = await createdToken(service, WRITER)
    await importPlants(service, some(5000, 'Rubus'), helper.secret)
    await page.reload()
    await open(page)
    await undoOf(page, '5,000 plants added').click()
    const held = Promise.withResolvers<void>()
    let requests = 0
    const end = await intercept(page, /\/plants\/import/, async (route) => {
      requests += 1
      if (requests > 1) await held.promise
      await route.continue().catch(() => {})
    })
    await page.getByRole('button', { name: 'Undo for 5,000 plants' }).click()
    await page.getByRole('dialog').getByText('1,000 plants of 5,000…').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('alert').filter({ hasText: '4,000 plants left.' }).waitFor()
    held.resolve()
    await end()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Undone for 5,000 plants.').waitFor()
    assert.deepEqual(await service.plants(), [])
  })

  inBrowser('says since when the log has changes, and offers no undo without the right', async (opened) => {
    const { page, service, address } = opened
    await empty(service)
    const helper = await createdToken(service, WRITER)
    await importPlants(service, some(3, 'Vitis'), helper.secret)
    const reader = await createdToken(service, { name: 'reader', scopes: ['plants:read'] })
    await signOver(page, address, reader.secret)
    await page.goto(`${address}#/actions`)
    await page.getByText('3 plants added').first().waitFor()
    await page.getByText(/^The service has the changes since .+, and no earlier ones\.$/).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Undo/ }).count(), 0)
  })
})

suite('the page, for a service without a log of changes,', () => {
  const inBrowser = pageTests(async () => ({ changesKeep: '0s' }))

  inBrowser('says that there are no actions', async ({ page, address }) => {
    await page.goto(`${address}#/actions`)
    await page.getByText('This service keeps no log of changes (--changes-keep).').waitFor()
  })
})
