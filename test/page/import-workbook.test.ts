import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite } from 'node:test'
import { assertAccessible, assertFits } from '../support/accessible.ts'
import { openView } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { choose, empty, importAll } from '../support/page-files.ts'
import { askedBy } from '../support/page-network.ts'
import { stored, storedNames } from '../support/page-plants.ts'
import { rowsOf, workbook } from '../support/workbook.ts'

const fixture = (name: string): Buffer => readFileSync(new URL(`../import/fixtures/${name}`, import.meta.url))

suite('the page, for workbooks,', () => {
  const { inBrowser, onPhone } = pageTests({ begin: ({ service }) => empty(service) })

  inBrowser('reads the sheet with most plants, or another one, with all digits of ids', async ({ page, service }) => {
    const asked = askedBy(page)
    await choose(page, 'plants.csv', Buffer.from('id,name\n1,Fern\n'))
    await page.getByRole('cell', { name: 'Fern' }).waitFor()
    assert.ok(!asked.some((url) => url.endsWith('/workbook.js')), 'the page loads the reader of workbooks for CSV')
    await choose(page, 'stock.xlsx', fixture('two-sheets.xlsx'))
    await page.getByRole('cell', { name: 'Ähre' }).waitFor()
    const sheet = page.getByLabel('Sheet of the workbook')
    assert.deepEqual(await sheet.locator('option').allTextContents(), ['Notes', 'Plants'])
    await sheet.selectOption('Notes')
    await page.getByRole('cell', { name: 'market' }).waitFor()
    await page.getByRole('cell', { name: '2023-03-15' }).waitFor()
    await assertAccessible(page)
    await sheet.selectOption('Plants')
    await page.getByRole('cell', { name: 'Ähre' }).waitFor()
    const named = page.getByLabel('The names of the columns are in')
    assert.equal(await named.inputValue(), '1', 'rows have the numbers of the sheet')
    assert.equal(await page.getByText('Read as').count(), 0, 'a workbook has no encoding and no separator')
    await importAll(page)
    assert.deepEqual(await stored(service), [
      '7 =1+1 (2.5)',
      '100000000000001 Rosa "Peace", red; & <tall> (bed 1)',
      '9223372036854775807  Ähre ',
    ])
    await choose(page, 'wrong.xlsx', Buffer.from('PK\x03\x04 and no archive'))
    await page.getByText('This workbook cannot be read. Save the sheet as CSV.').waitFor()
    assert.equal(await sheet.count(), 0)
  })

  for (const withPolicy of [true, false]) {
    inBrowser(`reads 30,000 rows in the page, ${withPolicy ? 'with' : 'without'} Trusted Types`, async (opened) => {
      const { page, service } = opened
      if (!withPolicy) {
        // As in a browser without them: the page's policy then forbids no worker by its type.
        await page.route('**/*', async (route) => {
          if (!route.request().isNavigationRequest()) return route.fallback()
          const response = await route.fetch()
          const { 'content-security-policy': policy = '', ...headers } = response.headers()
          const other = policy.replaceAll(/(require-trusted-types-for|trusted-types)[^;]*;?/g, '')
          await route.fulfill({ response, headers: { ...headers, 'content-security-policy': other } })
        })
        await page.reload()
      }
      await empty(service)
      const workers: string[] = []
      page.on('worker', (worker) => workers.push(worker.url()))
      const rows = Array.from({ length: 30_000 }, (_, i) => [`Rosa ${i}`, `bed ${i % 9}`, ...'abcdef'])
      await choose(page, 'many.xlsx', workbook({ Plants: rowsOf([['Name', 'Bed'], ...rows]) }))
      await page.getByRole('cell', { name: 'Rosa 0' }).waitFor()
      await page.getByRole('button', { name: 'Check the file' }).click()
      await page.getByRole('button', { name: 'Import 30,000 plants' }).waitFor()
      assert.deepEqual(workers, [])
    })
  }

  inBrowser('shows the file that was chosen last, also if an earlier one is larger', async ({ page }) => {
    const rows = Array.from({ length: 30_000 }, (_, i) => [`Rosa ${i}`, 'bed'])
    await choose(page, 'many.xlsx', workbook({ Plants: rowsOf(rows) }))
    await choose(page, 'few.csv', Buffer.from('id,name\n1,Fern\n'))
    await page.getByRole('cell', { name: 'Fern' }).waitFor()
    await page.getByText('Reading many').waitFor({ state: 'hidden' })
    assert.equal(await page.getByRole('cell', { name: 'Rosa 0' }).count(), 0)
  })

  inBrowser('says that its reader does not load', { expected: /net::ERR_|Failed to load/ }, async (opened) => {
    const { page, context } = opened
    const file = workbook({ Plants: rowsOf([['Name'], ['Abies']]) })
    await openView(page, 'Import')
    await page.getByLabel('Drop a spreadsheet here').waitFor()
    await context.setOffline(true)
    await choose(page, 'plants.xlsx', file)
    await page.getByText('The service cannot be reached').waitFor()
    await context.setOffline(false)
    await choose(page, 'plants.xlsx', file)
    await page.getByRole('cell', { name: 'Abies' }).waitFor()
  })

  onPhone('fills merged cells downwards and says so', async ({ page, service }) => {
    const rows = [
      ['Bed', 'Name'],
      ['bed 1', 'Abies'],
      [undefined, 'Betula'],
      ['bed 2', 'Carex'],
    ]
    const merged = '<mergeCells><mergeCell ref="A2:A3"/></mergeCells>'
    await choose(page, 'beds.xlsx', workbook({ Plants: rowsOf(rows) + merged }))
    await page.getByText('1 cell has got the text of the merged cell above it.').waitFor()
    await assertFits(page)
    await importAll(page)
    assert.deepEqual(await storedNames(service), ['Abies (bed 1)', 'Betula (bed 1)', 'Carex (bed 2)'])
  })
})
