import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertAtBothSizes, assertFits } from '../support/accessible.ts'
import { tabTo } from '../support/by-keyboard.ts'
import { pageTests, until } from '../support/page.ts'
import { choose, empty, importAll, saved, savedWithIds } from '../support/page-files.ts'
import { stored, storedNames } from '../support/page-plants.ts'
import { rowsOf, workbook } from '../support/workbook.ts'

const figures = (page: Page): Promise<string[]> => page.locator('.figures li').allTextContents()

const check = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Check the file' }).click()
  await page.getByRole('heading', { name: 'Result of the check' }).waitFor()
}

const importPlants = async (page: Page, count: number): Promise<void> => {
  await page.getByRole('button', { name: `Import ${count} plant${count === 1 ? '' : 's'}` }).click()
  await page.getByRole('heading', { name: 'Imported', exact: true }).waitFor()
}

const sheet = (rows: readonly string[]): Buffer => Buffer.from(`${rows.join('\n')}\n`)

const { inBrowser, onPhone } = pageTests({ begin: ({ service }) => empty(service) })

suite('the page, for rows that may be no plants,', () => {
  onPhone('asks about totals and headings, and shows the content of refused rows', async (opened) => {
    const { page, service } = opened
    const rows = ['Name,Place,Count', 'Perennials,,', 'Abies,bed 1,2', 'Acer,bed 2,3', ',bed 3,1', 'Betula,bed 3,2']
    await choose(page, 'stock.csv', sheet([...rows, 'Carex,bed 3,1', 'Dryas,bed 4,1', 'Total:,,10']))
    await check(page)
    const question = page.getByRole('group', { name: '2 rows look like totals or headings' })
    assert.deepEqual(await question.locator('tbody tr').allInnerTexts(), ['2\t\tPerennials', '9\t\tTotal:, 10'])
    const [refused = ''] = await page.locator('[role=status] tbody tr').allInnerTexts()
    assert.match(refused, /^5\tbed 3, 1\tThe row has no name/)
    await page.getByRole('button', { name: 'Import 7 plants', disabled: true }).waitFor()
    await assertAtBothSizes(page)
    await tabTo(page, question.getByLabel('Leave them out'))
    await page.keyboard.press('ArrowDown')
    await page.getByRole('button', { name: 'Import 7 plants', disabled: false }).waitFor()
    await question.getByLabel('Leave out row 9').check()
    assert.deepEqual(await figures(page), ['Added: 6', 'Unchanged: 0', 'Left out: 1', 'Refused: 1'])
    await question.getByLabel('Leave them out').check()
    assert.deepEqual(await figures(page), ['Added: 5', 'Unchanged: 0', 'Left out: 2', 'Refused: 1'])
    await importPlants(page, 5)
    assert.deepEqual(await figures(page), ['Added: 5', 'Unchanged: 0', 'Left out: 2', 'Refused: 1'])
    const beds = ['Abies (bed 1)', 'Acer (bed 2)', 'Betula (bed 3)', 'Carex (bed 3)', 'Dryas (bed 4)']
    assert.deepEqual(await storedNames(service), beds)
    assert.equal((await savedWithIds(opened)).length, 6)
  })

  inBrowser('says how it takes the sheet, leaves headings out, and asks once what NA is', async ({ page, service }) => {
    const rows = ['id,Name,Bed', 'A-1,Abies,NA', 'Climbers', 'A-2,Hoya,NULL', 'id,Name,Bed', 'A-3,Rosa,bed 1']
    await choose(page, 'stock.csv', sheet(rows))
    await check(page)
    await page.getByText('Row 1 has the names of the columns: id, Name, Bed.').waitFor()
    await page.getByText('The column id has no numbers: the page assigns ids.').waitFor()
    assert.deepEqual(await figures(page), ['Added: 3', 'Unchanged: 0', 'Left out: 2', 'Refused: 0'])
    assert.deepEqual(await page.locator('[role=status] tbody tr.note td:first-child').allInnerTexts(), ['3', '5'])
    const question = page.getByRole('group', { name: '2 rows have NA and NULL as their tag' })
    await page.getByRole('button', { name: 'Import 3 plants', disabled: true }).waitFor()
    await assertAtBothSizes(page)
    await question.getByLabel('They have no tag').check()
    await page.getByRole('button', { name: 'Import 3 plants', disabled: false }).waitFor()
    await importPlants(page, 3)
    assert.deepEqual(await storedNames(service), ['Abies', 'Hoya', 'Rosa (bed 1)'])
  })

  inBrowser('says in one line why it refuses most rows, with the button that mends it', async ({ page }) => {
    const rows = ['Nr,Name', '1,Abies', '2,Acer', ...Array.from({ length: 30 }, (_, i) => `x${i},Rosa`)]
    await choose(page, 'stock.csv', sheet(rows))
    await page.getByLabel('Id').selectOption('Nr')
    await check(page)
    await page.getByText('30 rows have no number of their own in the column Nr, and are refused.').waitFor()
    await page.getByRole('button', { name: 'Assign ids instead' }).click()
    await page.getByText('32 rows have only 3 different names.').waitFor()
    await page.getByRole('button', { name: 'Import 32 plants' }).waitFor()
  })

  inBrowser('asks about no heading where plants have a name alone', async ({ page }) => {
    const rows = ['Name,Place,Count', 'Abies,,', 'Acer,,', 'Total eclipse,bed,1', 'Betula,bed,1']
    await choose(page, 'list.csv', sheet(rows))
    await check(page)
    await page.getByRole('button', { name: 'Import 4 plants', disabled: false }).waitFor()
  })

  inBrowser('offers the tag of the row above where each tag stands once', async ({ page, service }) => {
    const rows = ['Bed,Name', 'bed 1,Abies', ',Acer', ',Alnus', 'bed 2,Betula', ',Carex']
    await choose(page, 'beds.csv', sheet(rows))
    await check(page)
    await page.getByLabel('3 rows have no tag. Take the tag of the row above').click()
    await page.getByLabel('Rows without a tag have taken that of the row above').waitFor()
    await page.getByRole('button', { name: 'Import 5 plants' }).waitFor()
    await assertFits(page)
    await importPlants(page, 5)
    assert.deepEqual(await storedNames(service), [
      'Abies (bed 1)',
      'Acer (bed 1)',
      'Alnus (bed 1)',
      'Betula (bed 2)',
      'Carex (bed 2)',
    ])
  })
})

suite('the page, for a corrected sheet,', () => {
  const first = ['Name,Bed', "Rosa 'Peace',1", 'Acer palmtum,1', 'Hosta sieboldiana,2', 'Seedling 12,2']
  const elegans = "Hosta sieboldiana 'Elegans',2"
  const corrected = ["Rosa 'Peace',1", 'Acer palmatum,1', elegans, 'Seedling 13,2', 'Seedling 12,2']

  onPhone('asks whether rows change the plants they look like', async ({ page, service }) => {
    for (const [i, row] of first.slice(1).entries()) {
      const [name, tag] = row.split(',')
      await service.create({ id: 11 + i, name, tag })
    }
    await choose(page, 'plants.csv', sheet(['Name,Bed', ...corrected]))
    await check(page)
    const question = page.getByRole('group', { name: '2 rows look like stored plants with another name or tag' })
    const found = (await question.locator('tbody tr').allInnerTexts()).map((text) => text.trim().split(/\t+/))
    assert.deepEqual(found, [
      ['3', '12 · Acer palmtum · 1', 'Acer palmatum · 1'],
      ['4', '13 · Hosta sieboldiana · 2', "Hosta sieboldiana 'Elegans' · 2"],
    ])
    await page.getByRole('button', { name: 'Import 3 plants', disabled: true }).waitFor()
    await assertAtBothSizes(page)
    await question.getByLabel('Add the rows as further plants').check()
    assert.deepEqual(await figures(page), ['Added: 3', 'Unchanged: 0', 'Left out: 2', 'Refused: 0'])
    await question.getByLabel('Change those plants').check()
    assert.deepEqual(await figures(page), ['Added: 1', 'Updated: 2', 'Unchanged: 0', 'Left out: 2', 'Refused: 0'])
    await importPlants(page, 3)
    assert.deepEqual(await figures(page), ['Added: 1', 'Updated: 2', 'Unchanged: 0', 'Left out: 2', 'Refused: 0'])
    const changed = ['12 Acer palmatum (1)', "13 Hosta sieboldiana 'Elegans' (2)"]
    const plants = await stored(service)
    assert.deepEqual(plants.slice(0, 4), ["11 Rosa 'Peace' (1)", ...changed, '14 Seedling 12 (2)'])
    assert.match(plants.slice(4).join(), /^\d+ Seedling 13 \(2\)$/)
  })

  inBrowser('changes only plants whose rows stay ticked, and none that changed meanwhile', async (opened) => {
    const { page, service } = opened
    for (const [i, name] of ['Abies alva', 'Acer palmtum', 'Betula pendla'].entries()) {
      await service.create({ id: 1 + i, name })
    }
    await choose(page, 'names.csv', sheet(['Name', 'Abies alba', 'Acer palmatum', 'Betula pendula']))
    await check(page)
    const question = page.getByRole('group', { name: '3 rows look like stored plants' })
    await question.getByLabel('Change those plants').check()
    await question.getByLabel('Change plant 3 by row 4').uncheck()
    await service.sendJson('PATCH', '/plants/2', '{"name":"Acer"}')
    await importPlants(page, 3)
    assert.deepEqual(await figures(page), ['Added: 1', 'Updated: 1', 'Unchanged: 0', 'Refused: 1'])
    assert.deepEqual(await storedNames(service), ['Abies alba', 'Acer', 'Betula pendla', 'Betula pendula'])
  })

  inBrowser('remembers the plant of a row: by a column that names it, and by its neighbours', async (opened) => {
    const { page, service } = opened
    const versions = [
      // The article numbers name the plants, though all else changes, and another row looks like the plant of one.
      [
        ['Art,Name,Bed', 'A1,Unknown rose,1', 'A2,Acer,1', 'A3,Betula,2'],
        ['Art,Name,Bed', 'A2,Acer,1', 'A3,Betula,2', "A1,Rosa 'Peace',7", 'A4,Unknown rosa,1'],
      ],
      // The plant between two others got another bed.
      [
        ['Name,Bed', 'Abies,1', 'Acer,1', 'Betula,2', 'Carex,2'],
        ['Name,Bed', 'Abies,1', 'Acer,1', 'Betula,8', 'Carex,2'],
      ],
    ] as const
    for (const [i, [before, after]] of versions.entries()) {
      await empty(service)
      await choose(page, `stock ${i}.csv`, sheet(before))
      await page.getByLabel('Tag', { exact: true }).selectOption('Bed')
      await importAll(page)
      await page.reload()
      await choose(page, `stock ${i} (1).csv`, sheet(after))
      await page.getByLabel('Tag', { exact: true }).selectOption('Bed')
      await check(page)
      const question = page.getByRole('group', { name: '1 row looks like a stored plant with another name or tag' })
      await question.getByLabel('Change those plants').check()
      await importPlants(page, 1 + after.length - before.length)
      const expected = after.slice(1).map((row) => row.replace(/^.*?([^,]+),([^,]+)$/, '$1 ($2)'))
      assert.deepEqual((await storedNames(service)).toSorted(), expected.toSorted())
    }
  })

  inBrowser('says what to import next, and changes plants by the workbook with their ids', async (opened) => {
    const { page, service } = opened
    const names = ['=1+1', 'Rosa "Peace" & <co>', ' Ähre 🌱 _x0041_ ']
    const rows = [['Plant', 'Note'], ...names.map((name) => [name.replace('_x', '_x005F_x'), '007'])]
    await choose(page, 'plants.xlsx', workbook({ Plants: rowsOf(rows) }))
    await importAll(page)
    await page.getByText('correct the sheet with its ids').waitFor()
    const [first = 0n] = (await service.plants()).map(({ id }) => id)
    assert.deepEqual(await savedWithIds(opened), [
      'id,Plant,Note',
      `${first},=1+1,007`,
      `${first + 1n},"Rosa ""Peace"" & <co>",007`,
      `${first + 2n}, Ähre 🌱 _x0041_ ,007`,
    ])
  })

  onPhone('leaves out the rows of a sheet without ids that are stored already', async (opened) => {
    const { page, service } = opened
    const withNotes = (rows: readonly string[]) => sheet(['Plant;Place;Note', ...rows])
    const first = ['Abies;bed 1;a', 'Betula;;b', 'Betula;;c', ';bed 4;d', 'Wrong \0;bed 2;"e;f"']
    await choose(page, 'wishes.csv', withNotes(first))
    await check(page)
    await importPlants(page, 3)
    const ids = (await service.plants()).map(({ id }) => id)
    assert.equal(
      await saved(opened, 'Save the refused rows to mend them'),
      '\ufeffPlant,Place,Note,Reason\r\n,bed 4,d,The row has no name.\r\n' +
        'Wrong \0,bed 2,e;f,"Name must not contain U+0000 or a lone surrogate, as ""Wrong \\u{0}"" does."\r\n',
    )
    const mended = [...first.slice(0, 3), 'Acer;bed 4;d', 'Right;bed 2;"e;f"', 'Abies;bed 2;']
    await choose(page, 'wishes.csv', withNotes(mended))
    await page.getByRole('button', { name: 'Check the file' }).click()
    await page.getByLabel('Leave out the 3 rows whose name and tag are stored already').waitFor()
    await page.getByRole('button', { name: 'Import 3 plants' }).waitFor()
    await assertAccessible(page)
    await page.getByRole('checkbox').uncheck()
    await page.getByRole('button', { name: 'Import 6 plants' }).waitFor()
    await page.getByRole('checkbox').check()
    await importPlants(page, 3)
    assert.deepEqual(await figures(page), ['Added: 3', 'Unchanged: 0', 'Left out: 3', 'Refused: 0'])
    const plants = await service.plants()
    assert.equal(plants.length, 6)
    const idOf = (name: string) => plants.findLast((each) => each.name === name)?.id
    assert.deepEqual(await savedWithIds(opened), [
      'id,Plant,Place,Note',
      `${ids[0]},Abies,bed 1,a`,
      `${ids[1]},Betula,,b`,
      `${ids[2]},Betula,,c`,
      `${idOf('Acer')},Acer,bed 4,d`,
      `${idOf('Right')},Right,bed 2,e;f`,
      `${idOf('Abies')},Abies,bed 2`,
    ])
    await choose(page, 'wishes.csv', withNotes(first.slice(0, 3)))
    await page.getByRole('button', { name: 'Check the file' }).click()
    await page.getByText('There is nothing to import.').waitFor()
  })
})

suite('the page, after an import,', () => {
  onPhone('leads to the plants and their labels, and undoes all but plants that changed', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Acer palmtum', tag: 'a' })
    await choose(page, 'plants.csv', sheet(['Name,Bed', 'Acer palmatum,a', 'Betula,b', 'Carex,b']))
    await check(page)
    await page.getByLabel('Change those plants').check()
    await importPlants(page, 3)
    await assertAccessible(page)
    const show = page.getByRole('link', { name: 'Show them' })
    assert.match((await show.getAttribute('href')) ?? '', /^#\/plants\?tag=a&tag=b&sort=-id$/)
    await page.getByRole('button', { name: 'Print labels' }).click()
    await page.getByText('3 labels', { exact: true }).waitFor()
    await page.goBack()
    const carex = (await service.plants()).find(({ name }) => name === 'Carex')
    await service.sendJson('PATCH', `/plants/${carex?.id}`, '{"tag":"c"}')
    await page.getByRole('button', { name: 'Undo the import' }).click()
    const dialog = page.getByRole('dialog', { name: 'Undo: plants.csv' })
    await dialog.getByText('1 plant stays as it is.').waitFor()
    await dialog.getByRole('button', { name: 'Undo for 2 plants' }).click()
    await dialog.getByText('Undone for 2 plants').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await until(page, 'document.activeElement !== document.body')
    assert.deepEqual(await storedNames(service), ['Acer palmtum (a)', 'Carex (c)'])
  })

  inBrowser('undoes an import with ids too, but for plants that were there before', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Abies' })
    await choose(page, 'plants.csv', sheet(['id,name', '1,Abies', '2,Betula']))
    await importAll(page)
    await page.getByRole('button', { name: 'Undo the import' }).click()
    await page.getByRole('button', { name: 'Undo for 1 plant' }).click()
    await page.locator('.notice').getByText('Undone for 1 plant.').waitFor()
    assert.deepEqual(await storedNames(service), ['Abies'])
  })
})
