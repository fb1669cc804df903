import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { openTools, openView, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilCount } from '../support/labels.ts'
import { type Opened, PHONE, pageTests } from '../support/page.ts'
import { holdAnswers, intercept, NO_NETWORK, withoutWaits } from '../support/page-network.ts'
import { rowOf, storedPlant } from '../support/page-plants.ts'

/** Creates a plant for the test, and opens the page with a clock that the test moves. */
async function withPlant({ page, service }: Opened, id: number, name: string): Promise<void> {
  await service.create({ id, name })
  await page.clock.install()
  await page.reload()
  await page.getByLabel('Search plants').fill(name)
  await rowOf(page, id).waitFor()
  await untilCount(page.locator('[role=row][data-id]'), 1)
}

suite('the page with a slow network, or none', () => {
  const { inBrowser, onPhone } = pageTests()

  inBrowser('loses no text that is typed while the service works', async (opened) => {
    const { page, service } = opened
    await withPlant(opened, 501, 'Nyssa')
    await page.getByRole('button', { name: 'Add a plant' }).click()
    const name = page.getByLabel('Name', { exact: true })
    await page.getByRole('button', { name: 'Change the id' }).click()
    await page.getByLabel('Id', { exact: true }).fill('502')
    await name.fill('Nyssa sinensis')
    const add = await holdAnswers(page, '**/plants', 'POST')
    await name.press('Enter')
    await page.getByRole('button', { name: 'Add…' }).waitFor()
    await page.getByLabel('Id', { exact: true }).fill('503')
    await name.fill('Nyssa aquatica')
    add()
    await page.getByText('Added 502 Nyssa sinensis').waitFor()
    assert.equal(await name.inputValue(), 'Nyssa aquatica')
    await name.press('Enter')
    await page.getByText('Added 503 Nyssa aquatica').waitFor()
    await rowOf(page, 501).getByRole('button', { name: 'Edit: 501' }).click()
    const field = page.getByLabel('Name: 501')
    await field.fill('Nyssa sylvatica')
    const save = await holdAnswers(page, '**/plants/501', 'PATCH')
    await field.press('Enter')
    await page.getByRole('button', { name: 'Save…' }).waitFor()
    await field.fill('Nyssa sylvatica ‘Sheffield Park’')
    save()
    await page.getByText('Saved 501').waitFor()
    assert.equal(await field.inputValue(), 'Nyssa sylvatica ‘Sheffield Park’')
    assert.deepEqual(await storedPlant(service, 501), { id: 501, name: 'Nyssa sylvatica' })
    await field.press('Enter')
    await field.waitFor({ state: 'detached' })
    assert.deepEqual(await storedPlant(service, 501), { id: 501, name: 'Nyssa sylvatica ‘Sheffield Park’' })
  })

  inBrowser('keeps the focus and the text of an edit when the answer of a search replaces the rows', async (opened) => {
    const { page } = opened
    await withPlant(opened, 506, 'Oxydendrum')
    for (const [search, grid] of [
      ['no such plant', 'Unfinished edits'],
      ['oxydendrum', 'Plants'],
    ] as const) {
      const answer = await holdAnswers(page, /[?&]q=/, 'GET')
      await Promise.all([page.waitForRequest(/[?&]q=/), page.getByLabel('Search plants').fill(search)])
      const field = page.getByLabel('Name: 506')
      if ((await field.count()) === 0) await pressOn(page, rowOf(page, 506))
      await tabTo(page, field)
      await page.keyboard.press('End')
      await page.keyboard.type('abcd')
      for (const key of ['ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key)
      answer()
      await untilFocused(page, page.getByRole('grid', { name: grid }).getByLabel('Name: 506'))
      await page.keyboard.type('-')
      assert.match(await field.inputValue(), /ab-cd$/)
    }
  })

  inBrowser('leaves the focus where the person has moved it while the service worked', async (opened) => {
    const { page, service } = opened
    await withPlant(opened, 511, 'Ostrya')
    const search = page.getByLabel('Search plants')
    const remove = await holdAnswers(page, '**/plants/511', 'DELETE')
    await pressOn(page, rowOf(page, 511), 'Delete')
    await page.keyboard.press('Delete')
    await search.focus()
    remove()
    await page.getByText('Deleted 511 Ostrya').waitFor()
    await rowOf(page, 511).waitFor({ state: 'detached' })
    await untilFocused(page, search)
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 1, 'the second key found it under way')
    assert.equal(await storedPlant(service, 511), undefined)
  })

  onPhone('reads and exports the table at a second attempt', async (opened) => {
    const { page, service } = opened
    const id = 540 + PHONE.width
    // A stream of changes that begins again, as the clock jumps, would read the table before the person does.
    const none = { status: 404, json: { error: 40401, message: 'the log of changes is switched off' } }
    await page.route('**/changes?*', (route) => route.fulfill(none))
    await withPlant(opened, id, `Tilia ${id}`)
    await service.create({ id: id + 1, name: `Ulmus ${id}` })
    const fault = { status: 500, json: { error: 50001, message: 'unexpected' } }
    const answerAgain = await intercept(page, /\/plants/, (route) => route.fulfill(fault))
    await page.getByLabel('Search plants').fill(`ulmus ${id}`)
    const again = page.locator('.foot').getByRole('button', { name: 'Try again' })
    await withoutWaits(page, again)
    await openTools(page)
    await pressOn(page, page.getByText('Export', { exact: true }))
    await pressOn(page, page.getByRole('button', { name: 'As CSV, for spreadsheets' }))
    await withoutWaits(page, page.getByText('No file was saved.'))
    await page.keyboard.press('Escape')
    await answerAgain()
    await pressOn(page, again)
    await rowOf(page, id + 1).waitFor()
    await untilFocused(page, page.locator('.foot'))
  })

  inBrowser(
    'keeps a sheet that it could not check, with its mapping and mode',
    { expected: NO_NETWORK },
    async ({ page, context }) => {
      await page.clock.install()
      await openView(page, 'Import')
      const file = {
        name: 'two.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from('id,a,b\n601,Vitis,x\n602,Weigela,y\n'),
      }
      await page.getByLabel('Drop a spreadsheet here').setInputFiles(file)
      await page.getByLabel('Name', { exact: true }).selectOption('a')
      await page.getByLabel('Plants that exist').selectOption('update')
      await context.setOffline(true)
      await page.getByRole('button', { name: 'Check the file' }).click()
      await withoutWaits(page, page.getByText('The service cannot be reached.'))
      await context.setOffline(false)
      await page.getByRole('link', { name: 'Plants', exact: true }).click()
      await withoutWaits(page, page.getByText(/^(That is all|There are no plants yet)\.$/))
      await openView(page, 'Import')
      assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '1')
      assert.equal(await page.getByLabel('Plants that exist').inputValue(), 'update')
      // The service has answered meanwhile, so the check goes on by itself.
      await withoutWaits(page, page.getByText('Added: 2'))
    },
  )

  inBrowser('keeps chosen labels, and saves them without a network', { expected: NO_NETWORK }, async (opened) => {
    const { page, context } = opened
    await withPlant(opened, 611, 'Xanthoceras')
    await page.goto(page.url().replace(/#.*/, '#/labels?id=611'))
    await page.getByText('1 label', { exact: true }).waitFor()
    await page.getByText('Xanthoceras', { exact: true }).first().waitFor()
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByRole('button', { name: 'Reserve ids' }).click()
    await withoutWaits(page, page.getByText('Not everything could be read. The service cannot be reached.'))
    await withoutWaits(page, page.getByText('“Reserve ids” failed. The service cannot be reached.'))
    assert.equal(await page.getByText('1 label', { exact: true }).count(), 1)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save as PDF' }).click()
    await page.getByRole('button', { name: 'Continue all the same' }).click()
    assert.equal((await download).suggestedFilename(), 'labels.pdf')
    await context.setOffline(false)
    await page.getByRole('button', { name: 'Reserve ids' }).click()
    await page.getByText('22 labels', { exact: true }).waitFor()
  })
})
