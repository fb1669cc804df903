import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAccessible, assertFits } from '../support/accessible.ts'
import { openMenu, openTools, pressOn, tabTo } from '../support/by-keyboard.ts'
import { untilCount } from '../support/labels.ts'
import { pageTests } from '../support/page.ts'
import { choose, empty, importAll, saved } from '../support/page-files.ts'

suite('the page, for exports,', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('exports the plants of the table, by keyboard alone', async (opened) => {
    const { page, service } = opened
    await empty(service)
    await service.create({ id: 1, name: 'Abies "alba"', tag: 'tree' })
    await service.create({ id: 2, name: 'Betula' })
    await untilCount(page.locator('[role=row][data-id]'), 2)
    await tabTo(page, page.getByLabel('Search plants'))
    await page.keyboard.type('abies')
    await untilCount(page.locator('[role=row][data-id]'), 1)
    await openTools(page)
    await pressOn(page, page.getByText('Export', { exact: true }))
    const sheet = await saved(opened, 'As CSV, for spreadsheets')
    assert.equal(sheet, '\ufeffid,name,tag\r\n1,"Abies ""alba""",tree\r\n')
    assert.equal(await saved(opened, 'As NDJSON, for programs'), '{"id":1,"name":"Abies \\"alba\\"","tag":"tree"}\n')
    await assertAccessible(page)
    await assertFits(page)
  })

  inBrowser(
    'exports a sheet with semicolons where numbers have a decimal comma, which gives the same plants in every import',
    { locale: 'de-DE' },
    async (opened) => {
      const { page, service } = opened
      await empty(service)
      const plants = [
        { id: 1, name: '=1+1', tag: '' },
        { id: 2, name: 'a;b,c\td "e"\r\nf' },
        { id: 3, name: ' -x ', tag: '+1' },
        { id: 4, name: '' },
      ]
      for (const plant of plants) await service.create(plant)
      await service.create('{"id":9223372036854775807,"name":"Rosa","tag":"@home"}')
      const before = await service.plants()
      // The separator is that of the spreadsheet program, whatever the language of the page.
      await openMenu(page)
      await page.getByLabel('Sprache').selectOption('English')
      await page.keyboard.press('Escape')
      // The tools leave while the page sees an empty store.
      await page.locator('[role=row][data-id="9223372036854775807"]').waitFor()
      await page.getByText('Export', { exact: true }).click()
      const file = await saved(opened, 'As CSV, for spreadsheets')
      assert.equal(
        file,
        '\ufeffid;name;tag\r\n1;=1+1;""\r\n2;"a;b,c\td ""e""\r\nf";\r\n3; -x ;+1\r\n4;"";\r\n' +
          '9223372036854775807;Rosa;@home\r\n',
      )
      await page.getByText('3 texts begin with =, +, - or @. The file has them as they are').waitFor()
      await page.getByText('1 id has more than 15 digits').waitFor()
      await assertAccessible(page)
      const again = await service.importFile(file, { type: 'text/csv' })
      assert.match(again.body, /"unchanged":5,"refused":0/)
      await empty(service)
      await choose(page, 'plants.csv', Buffer.from(file))
      await importAll(page)
      assert.deepEqual(await service.plants(), before)
    },
  )
})
