import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAccessible, assertFits, openTools, PHONE, pageTests, pressOn, until } from '../support/page.ts'

suite('the page, for plants with the same name,', () => {
  const inBrowser = pageTests()

  inBrowser('says so if there are none', async ({ page, service }) => {
    await service.create({ id: 1, name: 'Aloe vera' })
    await service.create({ id: 2, name: 'Aloe' })
    await page.goto(`http://127.0.0.1:${service.port}/#/duplicates`)
    await page.getByText('No two plants have the same name.').waitFor()
  })

  const first = 200
  inBrowser(
    `shows them side by side, keeps one and brings the others back, by keyboard alone, at ${PHONE.width} pixels`,
    async ({ page, service }) => {
      const word = `Éch${PHONE.width}`
      const names = [`${word}everia`, `${word.toUpperCase()}EVERIA`, `${word}everia`, `${word}inops`]
      for (const [i, name] of names.entries()) await service.create({ id: first + i, name, tag: `bed ${i}` })
      await page.reload()
      await page.locator('[role=row][data-id]').first().waitFor()
      await openTools(page)
      await pressOn(page, page.getByRole('link', { name: 'Same names' }))
      await page.getByText('Look again').waitFor()
      const group = page.getByRole('group', { name: names[0] ?? '', exact: true })
      assert.deepEqual(await group.locator('.count').allTextContents(), [first, first + 1, first + 2].map(String))
      await assertAccessible(page)
      await assertFits(page)
      await pressOn(page, group.getByRole('radio').first(), 'ArrowDown')
      // Somebody else changes one of them meanwhile.
      await service.send('PATCH', `/plants/${first + 2}`, {
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ tag: 'theirs' }),
      })
      await pressOn(page, group.getByRole('button', { name: `Keep ${first + 1}, delete 2 plants` }))
      await group.getByText(`Kept ${first + 1}.`).waitFor()
      await group.getByText('1 plant stayed as it is:').waitFor()
      assert.equal((await service.send('GET', `/plants/${first}`)).status, 404)
      assert.match((await service.send('GET', `/plants/${first + 2}`)).body, /theirs/)
      await page.locator('.notice').getByRole('button', { name: 'Undo' }).click()
      await page.getByText('Undone for 1 plant.').waitFor()
      assert.match((await service.send('GET', `/plants/${first}`)).body, /bed 0/)
      await pressOn(page, page.getByRole('button', { name: 'Look again' }))
      await until(page, `document.querySelectorAll('.duplicates input[type=radio]').length >= 3`)
    },
    { viewport: PHONE },
  )
})
