import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAtBothSizes } from '../support/accessible.ts'
import { pressOn } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { empty } from '../support/page-files.ts'
import { as, createdToken } from '../support/tokens.ts'

const HELPER = { name: 'Hannah', scopes: ['plants:read', 'plants:write'] }

suite('the page, for what is gone and what is new,', () => {
  const { onPhone } = pageTests()

  onPhone(
    'lists what is deleted now, with who, and brings back one and many, by keyboard',
    async ({ page, service }) => {
      await empty(service)
      const { secret } = await createdToken(service, HELPER)
      for (const id of [1, 2, 3, 4]) await service.create({ id, name: `Rosa ${id}`, tag: 'bed' })
      for (const id of [1, 2, 3, 4]) await service.send('DELETE', `/plants/${id}`, as(secret))
      await service.create({ id: 4, name: 'again' })
      await page.reload()
      await pressOn(page, page.getByRole('link', { name: 'Last actions' }))
      await pressOn(page, page.getByRole('link', { name: 'Deleted plants' }))
      const rows = page.locator('.deleted li')
      const rowOf = (id: number) => rows.filter({ hasText: `Rosa ${id}` })
      await rowOf(3).getByText('by Hannah').waitFor()
      const names = (await rows.allTextContents()).map((text) => /Rosa \d/.exec(text)?.[0])
      assert.deepEqual(names.slice(0, 3), ['Rosa 3', 'Rosa 2', 'Rosa 1'])
      assert.equal(await rowOf(4).count(), 0)
      await page.getByText('The service keeps the changes since').waitFor()
      await assertAtBothSizes(page)

      const bringBack = page.getByRole('button', { name: 'Bring back' })
      await pressOn(page, page.getByLabel('Select 1', { exact: true }), 'Space')
      await page.getByText('1 plant selected').waitFor()
      await pressOn(page, bringBack)
      await page.locator('.notice').getByText('1 plant is back').waitFor()
      await rowOf(1).waitFor({ state: 'detached' })
      assert.deepEqual((await service.send('GET', '/plants/1')).json, { id: 1, name: 'Rosa 1', tag: 'bed' })

      await service.create({ id: 2, name: 'Another' })
      for (const id of [2, 3]) await pressOn(page, page.getByLabel(`Select ${id}`, { exact: true }), 'Space')
      await pressOn(page, bringBack, 'Enter', 'Shift+Tab')
      await page.getByText('1 needs your decision.').waitFor()
      await rowOf(3).waitFor({ state: 'detached' })
      assert.deepEqual((await service.send('GET', '/plants/3')).json, { id: 3, name: 'Rosa 3', tag: 'bed' })
      assert.deepEqual((await service.send('GET', '/plants/2')).json, { id: 2, name: 'Another' })
      await assertAtBothSizes(page)
    },
  )

  onPhone('shows the last changes first, follows further ones, and says where they end', async ({ page, service }) => {
    await empty(service)
    for (const id of [1, 2, 3]) await service.create({ id, name: `Salix ${id}` })
    await page.reload()
    await page.locator('[data-id="1"]').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Changed', exact: true }))
    const first = page.locator('[role=row][data-id]').first()
    await page.locator('[role=row][data-id="3"] time').waitFor()
    assert.equal(await first.getAttribute('data-id'), '3')
    await page.getByRole('columnheader', { name: 'Changed' }).and(page.locator('[aria-sort=descending]')).waitFor()
    await page.getByText('Plants that have not changed since are not in this order.').waitFor()
    await assertAtBothSizes(page)
    await service.sendJson('PATCH', '/plants/1', { tag: 'shore' })
    await page.locator('.plants [role=rowgroup]:not(.heads) > [data-id="1"]:first-child time').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Id', exact: true }), 'Enter', 'Shift+Tab')
    await page.locator('.plants:not(.by-change)').waitFor()
  })
})

suite('the page of a service that keeps no log of changes', () => {
  const { inBrowser } = pageTests({ settings: async () => ({ changesKeep: '0s' }) })

  inBrowser('offers neither last actions nor the order by the last change', async ({ page, address, service }) => {
    await service.create({ id: 1, name: 'Salix' })
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() === 404 && answer.url().includes('-changed')) refused.push(answer.url())
    })
    await page.goto(`${address}#plants?sort=-changed`)
    await page.reload()
    await page.locator('[data-id="1"]').waitFor()
    for (const name of ['Changed', 'Last actions']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, name)
      assert.equal(await page.getByRole('link', { name }).count(), 0, name)
    }
    assert.deepEqual(refused, [])
    await page.goto(`${address}#actions`)
    await page.getByText('This service keeps no log of changes').waitFor()
  })
})
