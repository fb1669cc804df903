import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAtBothSizes } from '../support/accessible.ts'
import { openTools, pressOn, undoFromNotice, untilFocused } from '../support/by-keyboard.ts'
import { pageTests, until } from '../support/page.ts'
import { empty } from '../support/page-files.ts'
import { addRows } from '../support/page-plants.ts'
import { as, createdToken } from '../support/tokens.ts'

const HELPER = { name: 'Hannah', scopes: ['plants:read', 'plants:write'] }

const { inBrowser, onPhone } = pageTests({ begin: ({ service }) => empty(service) })

suite('the page, for what is gone and what is new,', () => {
  onPhone('lists what is deleted now, by whom, and brings back one and many, by keys', async ({ page, service }) => {
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
  })

  onPhone('shows the last changes first, follows further ones, and says where they end', async ({ page, service }) => {
    for (const id of [1, 2, 3]) await service.create({ id, name: `Salix ${id}` })
    await page.reload()
    await page.locator('[data-id="1"]').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Changed', exact: true }))
    const first = page.locator('[role=row][data-id]').first()
    await page.locator('[role=row][data-id="3"] time').waitFor()
    assert.equal(await first.getAttribute('data-id'), '3')
    await page.getByRole('columnheader', { name: 'Changed' }).and(page.locator('[aria-sort=descending]')).waitFor()
    await page.getByText('Plants that have not changed since are not in this order.').waitFor()
    await service.sendJson('PATCH', '/plants/1', { tag: 'shore' })
    await page.locator('.plants [role=rowgroup]:not(.heads) > [data-id="1"]:first-child time').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Id', exact: true }), 'Enter', 'Shift+Tab')
    await page.locator('.plants:not(.by-change)').waitFor()
  })
})

suite('the page, for plants with the same name,', () => {
  inBrowser('says so if there are none', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Aloe vera' })
    await service.create({ id: 2, name: 'Aloe' })
    await page.goto(`http://127.0.0.1:${service.port}/#/duplicates`)
    await page.getByText('No two plants have the same name.').waitFor()
  })

  onPhone('shows equal tags first, deletes nothing by one click, by keyboard alone', async ({ page, service }) => {
    const first = 200
    const word = `Éch${first}`
    const rows = [
      [`${word}everia`, 'bed 1'],
      [`${word.toUpperCase()}EVERIA`, 'bed 2'],
      [`${word}everia`, 'bed 3'],
      [`${word}inops`, 'bed 1'],
      [`${word}inops`, 'bed 1'],
      [`${word}inops`, 'bed 2'],
    ] as const
    for (const [i, [name, tag]] of rows.entries()) await service.create({ id: first + i, name, tag })
    await page.reload()
    await page.locator('[role=row][data-id]').first().waitFor()
    await openTools(page)
    await pressOn(page, page.getByRole('link', { name: 'Same names' }))
    const twins = page.getByRole('region', { name: 'Same name and same tag' })
    const others = page.getByRole('region', { name: 'Same name, different tags' })
    const inops = twins.getByRole('group', { name: `${word}inops`, exact: true })
    const everia = others.getByRole('group', { name: `${word}everia`, exact: true })
    await inops.getByText('Choose the plant to keep.').waitFor()
    assert.equal(await page.locator('.duplicates input:checked').count(), 0)
    const expected = [0, 1, 2].map((i) => String(first + i))
    assert.deepEqual(await everia.locator('.count').allTextContents(), expected)

    await pressOn(page, inops.getByRole('radio').first(), 'Space')
    await pressOn(page, inops.getByRole('button', { name: `Keep ${first + 3}, delete 1 plant`, exact: true }))
    await inops.getByText(`Kept ${first + 3}.`).waitFor()
    await page.getByRole('button', { name: /^Dismiss/ }).click()
    assert.equal((await service.send('GET', `/plants/${first + 4}`)).status, 404)
    assert.equal((await service.send('GET', `/plants/${first + 5}`)).status, 200)

    await pressOn(page, everia.getByRole('radio').first(), 'Space')
    const across = everia.getByRole('button', { name: `Keep ${first}, delete 2 plants, also with other tags…` })
    await pressOn(page, across)
    const dialog = page.getByRole('dialog', { name: 'Delete plants with other tags?' })
    await untilFocused(page, dialog.getByRole('button', { name: 'Cancel' }))
    assert.deepEqual(await dialog.locator('li').allTextContents(), [`${first + 1} bed 2`, `${first + 2} bed 3`])
    await assertAtBothSizes(page)
    await page.keyboard.press('Enter')
    await untilFocused(page, across)
    assert.equal((await service.send('GET', `/plants/${first + 2}`)).status, 200)
    // Another client changes one of them meanwhile.
    await service.sendJson('PATCH', `/plants/${first + 2}`, { tag: 'theirs' })
    await page.keyboard.press('Enter')
    await pressOn(page, dialog.getByRole('button', { name: 'Delete 2 plants' }))
    const question = page.getByRole('dialog', { name: `Somebody has changed ${first + 2} meanwhile` })
    await untilFocused(page, question.getByRole('button', { name: 'Not now' }))
    await page.keyboard.press('Enter')
    await question.waitFor({ state: 'detached' })
    assert.equal((await service.send('GET', `/plants/${first + 1}`)).status, 404)
    assert.match((await service.send('GET', `/plants/${first + 2}`)).body, /theirs/)
    await undoFromNotice(page, '1 plant')
    await page.getByText('Undone for 1 plant.').waitFor()
    assert.equal((await service.send('GET', `/plants/${first + 1}`)).status, 200)
    await pressOn(page, page.getByRole('button', { name: 'Look again' }))
    await everia.getByText('Choose the plant to keep.').waitFor()
  })

  inBrowser('hides what is not the same, until another plant of the name comes', async ({ page, service, address }) => {
    for (const id of [400, 401]) await service.create({ id, name: 'Hosta', tag: `bed ${id}` })
    await page.goto(`${address}#/duplicates`)
    const hosta = page.getByRole('group', { name: 'Hosta', exact: true })
    await pressOn(page, hosta.getByRole('button', { name: 'Not the same' }))
    await hosta.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('1 name is hidden, because you said that its plants are not the same.').waitFor()
    assert.equal(await hosta.count(), 0)
    await pressOn(page, page.getByRole('button', { name: 'Show all again' }))
    await pressOn(page, hosta.getByRole('button', { name: 'Not the same' }))
    await hosta.waitFor({ state: 'detached' })
    await service.create({ id: 402, name: 'HOSTA' })
    await pressOn(page, page.getByRole('button', { name: 'Look again' }))
    await hosta.waitFor()
  })

  inBrowser('goes on beyond a hundred names, and fifty plants of one', async ({ page, service, address }) => {
    const many = Array.from({ length: 260 }, (_, i) => ({ id: 1000 + i, name: `Many ${i >> 1}`, tag: `bed ${i}` }))
    const same = Array.from({ length: 60 }, (_, i) => ({ id: 2000 + i, name: 'Lavandula', tag: 'tray' }))
    const rows = [...many, ...same].map((row) => JSON.stringify(row))
    await addRows(service, rows)
    await page.goto(`${address}#/duplicates`)
    const tray = page.getByRole('group', { name: 'Lavandula', exact: true })
    await tray.getByRole('radio').first().check()
    await tray.getByRole('button', { name: 'Keep 2000, delete 49 plants' }).waitFor()
    await tray.getByRole('button', { name: 'Show more: 10' }).click()
    await tray.getByRole('button', { name: 'Keep 2000, delete 59 plants' }).waitFor()
    await until(page, `document.querySelectorAll('.duplicates').length === 100`)
    await page.getByRole('button', { name: /^Show more: \d+$/ }).click()
    await page.getByRole('group', { name: 'Many 129', exact: true }).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Show more/ }).count(), 0)
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
