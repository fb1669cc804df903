import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAccessible } from '../support/accessible.ts'
import { pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilCount } from '../support/labels.ts'
import { choose, LABELLED, openLabels, print, save, withoutDialog } from '../support/labels-page.ts'
import { pageTests } from '../support/page.ts'
import { codesOn } from '../support/pdf-pages.ts'

suite('texts and codes of labels', () => {
  const { inBrowser } = pageTests()

  inBrowser('have genus and species in italics if the person wants, as the device remembers', async (opened) => {
    const { page } = opened
    await openLabels(opened)
    await choose(page)
    const texts = page.locator('.preview text')
    await texts.first().waitFor()
    assert.equal(await page.locator('.preview text[font-style=italic]').count(), 0)
    await page.getByLabel('Genus and species in italics').check()
    await page.locator('.preview text[font-style=italic]', { hasText: 'Ficus' }).waitFor()
    await page.reload()
    assert.equal(await page.getByLabel('Genus and species in italics').isChecked(), true)
    await texts.first().waitFor({ state: 'detached' })
  })

  inBrowser('have lines of text with fields, and bars beside the QR code, as the device remembers', async (opened) => {
    const { page, address } = opened
    await withoutDialog(opened)
    await openLabels(opened)
    await choose(page)
    const line = (number: number) => page.getByLabel(`Line ${number}`, { exact: true })
    await tabTo(page, line(1))
    await page.keyboard.press('End')
    await page.keyboard.type(' · {colour}')
    await page.getByText('There is no field {colour}. The fields are {name}, {tag}, {id}, and {date}.').waitFor()
    assert.equal(await page.locator('.preview').count(), 0)
    for (let i = 0; i < 8; i++) await page.keyboard.press('Backspace')
    await page.getByText('Insert into line 1:').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Date', exact: true }))
    await untilFocused(page, line(1))
    assert.equal(await line(1).inputValue(), '{name} · {date}')
    await line(3).fill('No. {id} <b>^XZ~')
    await page.getByLabel('Code', { exact: true }).selectOption('both')
    await page.getByText('The bars hold the id alone').waitFor()
    const today = await page.evaluate<string>(
      `new Intl.DateTimeFormat('en-US', { dateStyle: 'medium' }).format(new Date())`,
    )
    await page
      .locator('.preview text', { hasText: today.slice(-4) })
      .first()
      .waitFor()
    await page.locator('.preview text', { hasText: '<b>^XZ~' }).first().waitFor()
    await assertAccessible(page)
    const expected = LABELLED.flatMap(({ id }) => [String(id), `${address}#/plant?id=${id}`])
    for (const make of [save, print]) {
      const [drawn] = make === save ? await save(page, { isAsked: true }) : await print(page)
      const codes = await codesOn(drawn ?? assert.fail())
      assert.deepEqual(codes.map(({ text }) => text).toSorted(), expected.toSorted(), make.name)
    }
    await page.reload()
    assert.equal(await line(1).inputValue(), '{name} · {date}')
    assert.equal(await page.getByLabel('Code', { exact: true }).inputValue(), 'both')
  })

  inBrowser('are refused where the bars of an id are wider than they, and shown with a shorter one', async (opened) => {
    const { page } = opened
    await openLabels(opened)
    await choose(page)
    await page.getByLabel('Labels on').selectOption('own')
    await page.getByLabel('Width of a label, mm').fill('30')
    await page.getByLabel('Code', { exact: true }).selectOption('bars')
    await page.getByText(`The code of ${LABELLED[0]?.id} does not fit on this label`).waitFor()
    assert.equal(await page.getByLabel('Code', { exact: true }).getAttribute('aria-invalid'), 'true')
    await page.getByText('Show the labels').click()
    for (const { id } of LABELLED.slice(0, 2)) await page.getByRole('button', { name: `Remove: ${id}` }).click()
    await untilCount(page.locator('.preview g'), LABELLED.length - 2)
  })
})
