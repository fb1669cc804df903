import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertAtBothSizes, assertFits } from '../support/accessible.ts'
import { openView, pressOn, signOver, tabTo } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { choose, empty, importAll, saved, savedWithIds, stored } from '../support/page-files.ts'

async function chooseByKeyboard(page: Page, name: string, buffer: Buffer): Promise<void> {
  await openView(page, 'Import')
  const file = page.getByLabel('Drop a spreadsheet here')
  await tabTo(page, file)
  // The browser draws its own dialog for files, which Playwright cannot use.
  await file.setInputFiles({ name, mimeType: 'text/csv', buffer })
}

suite('the page, for imports,', () => {
  const { inBrowser, onPhone } = pageTests()

  inBrowser('detects Windows-1252, and reads in the encoding that the person chooses', async ({ page, service }) => {
    await empty(service)
    await choose(page, 'plants.csv', Buffer.from('id,name\n1,Häberlea «ferdinandi»\n', 'latin1'))
    await page.getByRole('cell', { name: 'Häberlea «ferdinandi»' }).waitFor()
    await page.getByLabel('Encoding').selectOption('utf-8')
    await page.getByRole('cell', { name: 'H�berlea' }).waitFor()
    await page.getByLabel('Encoding').selectOption('windows-1252')
    await page.getByRole('cell', { name: 'Häberlea «ferdinandi»' }).waitFor()
    await importAll(page)
    assert.deepEqual(await stored(service), [['1', 'Häberlea «ferdinandi»']])
  })

  onPhone('takes quotation marks for letters in a file with tabs, or as the person says', async ({ page, service }) => {
    await empty(service)
    const rows = ['id\tname\tnote', '1\tAbies "alba"\t"Old mill', '2\tAcer\t', '3\tTaxus\t15" high', '']
    await choose(page, 'occurrences.tsv', Buffer.from(rows.join('\n')))
    await page.getByRole('cell', { name: 'Abies "alba"' }).waitFor()
    const marks = page.getByLabel('Texts are in quotation marks')
    await marks.waitFor()
    assert.equal(await marks.isChecked(), false)
    await assertAtBothSizes(page)
    await marks.click()
    await page.getByText('A quotation mark is misplaced').waitFor()
    await marks.click()
    await page.getByRole('checkbox', { name: 'Texts are in quotation marks', checked: false }).waitFor()
    await importAll(page)
    assert.deepEqual(await stored(service), [
      ['1', 'Abies "alba"'],
      ['2', 'Acer'],
      ['3', 'Taxus'],
    ])
  })

  onPhone('checks, names each refused row, and saves a report, by keyboard alone', async (opened) => {
    const { page, service } = opened
    await empty(service)
    await service.create({ id: 2, name: 'Another' })
    await service.create({ id: 3, name: 'Same' })
    const file = [
      'Nr;Name;Bed',
      '1;Abies;north',
      '2;Betula',
      '3;Same',
      ';No id',
      'x;Not a number',
      '9,2E+18;Rounded',
      '5;',
      '',
    ]
    await chooseByKeyboard(page, 'nursery.csv', Buffer.from(file.join('\r\n')))
    await tabTo(page, page.getByLabel('Tag', { exact: true }))
    await page.keyboard.type('Bed')
    await pressOn(page, page.getByRole('button', { name: 'Check the file' }))
    await page.getByRole('heading', { name: 'Result of the check' }).waitFor()
    assert.equal((await service.plants()).length, 2, 'the check stores nothing')
    const figures = await page.locator('.figures li').allTextContents()
    assert.deepEqual(figures, ['Added: 1', 'Unchanged: 1', 'Refused: 5'])
    const cells = await page.locator('[role=status] tbody tr').allInnerTexts()
    const found = cells.map((text) => text.split('\t')[0])
    assert.deepEqual(found, ['3', '5', '6', '7', '8'])
    assert.match(cells.join(' '), /belongs to a different plant.*Id is required.*plain digits.*rounded it.*no name/s)
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('button', { name: 'Import 1 plant' }))
    await page.getByRole('heading', { name: 'Imported' }).waitFor()
    const report = await saved(opened, 'Save the report')
    assert.match(
      report,
      /^\ufeffSource,nursery\.csv\r\nAdded,1\r\nUpdated,0\r\nUnchanged,1\r\nRefused,5\r\n\r\nRow,Content,Reason\r\n/,
    )
    assert.match(report, /\r\n5,No id,Id is required\.\r\n/)
    assert.deepEqual(await stored(service), [
      ['1', 'Abies', 'north'],
      ['2', 'Another'],
      ['3', 'Same'],
    ])
  })

  inBrowser('replaces existing plants if the person chooses that', async ({ page, service }) => {
    await empty(service)
    await service.create({ id: 2, name: 'Another', tag: 'x' })
    await choose(page, 'plants.csv', Buffer.from('id,name\n2,Betula\n'))
    await page.getByLabel('Plants that exist').selectOption('update')
    await importAll(page)
    assert.deepEqual(await stored(service), [['2', 'Betula']])
  })

  inBrowser('assigns ids to a sheet without ids, and saves the sheet with them', async (opened) => {
    const { page, service } = opened
    await empty(service)
    await service.create({ id: 40, name: 'Before' })
    await choose(page, 'wish list.csv', Buffer.from('Plant,Where\nAbies,"bed 1, left"\nBetula,bed 2\n'))
    await page.getByLabel('Tag', { exact: true }).selectOption('Where')
    await importAll(page)
    const plants = (await service.plants()).filter(({ name }) => name !== 'Before')
    const found = plants.map(({ name, tag }) => [name, tag])
    assert.deepEqual(found, [
      ['Abies', 'bed 1, left'],
      ['Betula', 'bed 2'],
    ])
    const [first = 0n, second = 0n] = plants.map(({ id }) => BigInt(id))
    assert.ok(first > 40n)
    assert.equal(second, first + 1n)
    assert.equal((await service.send('GET', '/ids')).body, `{"next":${second + 1n}}`, 'no id beyond is reserved')
    assert.deepEqual(await savedWithIds(opened), [
      'id,Plant,Where',
      `${first},Abies,"bed 1, left"`,
      `${second},Betula,bed 2`,
    ])
  })

  onPhone('shows all columns until the name is chosen, and which are not kept', async ({ page, service }) => {
    await empty(service)
    const sheet = 'My plants,,\n\nWas,Wo,Höhe\nAbies,Beet 1,2 m\nBetula,Beet 2,3 m\n'
    await choose(page, 'list.csv', Buffer.from(sheet))
    const names = page.getByLabel('The names of the columns are in')
    assert.equal(await names.inputValue(), '3')
    // How to read the bytes is shown where it is doubtful or asked for.
    assert.equal(await page.getByLabel('Encoding').isVisible(), false)
    await pressOn(page, page.getByText('Read as UTF-8, cells separated by commas'))
    await page.getByLabel('Encoding').waitFor()
    const heads = page.locator('.columns thead th')
    assert.deepEqual(await heads.allTextContents(), ['Row', 'Was', 'Wo', 'Höhe'])
    const check = page.getByRole('button', { name: 'Check the file', disabled: true })
    await check.waitFor()
    const described = `#${await check.getAttribute('aria-describedby')}`
    assert.equal(await page.locator(described).textContent(), 'Choose the column of the names first.')
    await assertAccessible(page)
    await assertFits(page)
    await page.getByLabel('Name', { exact: true }).selectOption('Was')
    await page.getByText('Not kept: the columns Wo and Höhe.').waitFor()
    await page.getByLabel('Name, part 2').selectOption('Wo')
    await page.getByText('Not kept: the column Höhe.').waitFor()
    await page.getByRole('cell', { name: 'Abies Beet 1' }).waitFor()
    await assertFits(page)
    await page.getByLabel('Name, part 2').selectOption('nothing more')
    await names.selectOption('0')
    await page.getByRole('cell', { name: 'My plants' }).waitFor()
    await names.selectOption('3')
    await page.getByLabel('Name', { exact: true }).selectOption('Was')
    await importAll(page)
    const found = (await service.plants()).map(({ name }) => name)
    assert.deepEqual(found, ['Abies', 'Betula'])
  })

  inBrowser('says why a token that may not read plants cannot import a sheet without ids', async (opened) => {
    const { page, service, address } = opened
    const { secret } = await service.issueToken(['plants:write'])
    await signOver(page, address, secret)
    await choose(page, 'list.csv', Buffer.from('Name\nAbies\n'))
    await page.getByText('Choose the column of the ids first: your token may not read plants').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Check the file' }).isDisabled())
  })

  inBrowser('opens a file that is dropped anywhere on the page', async ({ page, service }) => {
    await empty(service)
    await openView(page, 'Import')
    await page.getByLabel('Drop a spreadsheet here').waitFor()
    await page.evaluate(`
      const moved = new DataTransfer()
      moved.items.add(new File(['id,name\\n7,Dropped\\n'], 'dropped.csv', { type: 'text/csv' }))
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: moved, bubbles: true, cancelable: true }))
    `)
    await page.getByRole('cell', { name: 'Dropped' }).waitFor()
  })

  inBrowser('saves all refused rows to mend them, also beyond what one report of the service lists', async (opened) => {
    const { page, service } = opened
    await empty(service)
    const file = Array.from({ length: 2500 }, (_, i) => `${i},stored\n`)
    await service.importFile(`id,name\n${file.join('')}`, { type: 'text/csv' })
    const rows = Array.from({ length: 2600 }, (_, i) => `${i},other ${i}\n`)
    await choose(page, 'plants.csv', Buffer.from(`id,name\n${rows.join('')}`))
    await page.getByRole('button', { name: 'Check the file' }).click()
    await page.getByRole('button', { name: 'Import 100 plants' }).click()
    await page.getByRole('heading', { name: 'Imported', exact: true }).waitFor()
    const lines = (await saved(opened, 'Save the refused rows to mend them')).split('\r\n')
    assert.equal(lines.length, 2502)
    assert.match(lines[2500] ?? '', /^2499,other 2499,.*belongs to a different plant/)
  })

  inBrowser('of more plants than one document has labels leads to the labels of all', async ({ page }) => {
    const rows = Array.from({ length: 1001 }, (_, i) => `Labelled ${i};row`)
    await choose(page, 'labelled.csv', Buffer.from(['name;tag', ...rows].join('\n')))
    await page.getByRole('button', { name: 'Check the file' }).click()
    await page.getByRole('button', { name: 'Import 1,001 plants' }).click()
    await page.getByRole('button', { name: 'Print labels' }).click()
    await page.getByText('Labels 1 to 1,000 of 1,001').waitFor()
  })
})
