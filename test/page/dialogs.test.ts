import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { pressAction, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { type Opened, pageTests } from '../support/page.ts'
import { holdAnswers, intercept } from '../support/page-network.ts'
import { dialogOf, rowOf, untilShown } from '../support/page-plants.ts'

/** Creates three plants, selects them by keyboard, and opens a dialog for them. */
async function asked({ page, service }: Opened, first: number, button: string): Promise<void> {
  const ids = [first, first + 1, first + 2]
  for (const id of ids) await service.create({ id, name: `Focus${first} ${id}`, tag: 'old' })
  await page.getByLabel('Search plants').fill(`focus${first}`)
  await untilShown(page, ids)
  await tabTo(page, rowOf(page, first))
  await page.keyboard.press('Space')
  for (const key of ['ArrowDown', 'ArrowDown', 'Shift+Space']) await page.keyboard.press(key)
  await page.getByText('3 plants selected', { exact: true }).waitFor()
  await pressAction(page, button, 'Shift+Tab')
}

/** What each dialog for many plants has in focus when it asks, and the keys that do what it asks for. */
const QUESTIONS = [
  ['Set tag', 'Tag', ['new', 'Enter'], 'Set the tag new for 3 plants'],
  ['Remove tag', 'Cancel', ['Tab', 'Enter'], 'Removed the tag of 3 plants'],
  ['Replace text', 'Find', ['Focus', 'Tab', 'Place', 'Enter'], 'Replaced Focus with Place in 3 plants'],
  ['Delete', 'Cancel', ['Tab', 'Enter'], 'Deleted 3 plants'],
] as const

suite('a dialog of the page keeps the focus', () => {
  const { inBrowser, onPhone } = pageTests()

  for (const [i, [button, focused, keys, notice]] of QUESTIONS.entries()) {
    onPhone(`of "${button}" for many plants, by keyboard alone`, async (opened) => {
      const first = 2000 + 10 * i
      const { page } = opened
      await asked(opened, first, button)
      await dialogOf(page).getByText('3 plants selected').waitFor()
      const field = dialogOf(page).getByLabel(focused, { exact: true })
      await untilFocused(page, field.or(dialogOf(page).getByRole('button', { name: focused, exact: true })))
      for (const key of keys) {
        if (['Tab', 'Enter'].includes(key)) await page.keyboard.press(key)
        else await page.keyboard.type(key)
      }
      await page.locator('.notice').getByText(notice).waitFor()
      await dialogOf(page).waitFor({ state: 'detached' })
      await page.getByText('plants selected').waitFor({ state: 'detached' })
      // What the others do takes the rows out of the search.
      if (button.endsWith('tag')) await untilFocused(page, rowOf(page, first + 2))
    })
  }

  inBrowser('while it reads the plants, works, and asks about what others have changed', async (opened) => {
    const { page, service } = opened
    const read = await holdAnswers(page, '**/plants/export*', 'GET')
    await page.getByLabel('Search plants').fill('nothing of the kind')
    await asked(opened, 3000, 'Select all that match')
    await page.getByText(/^All [\d,]+ plants selected$/).waitFor()
    await pressAction(page, 'Set tag', 'Shift+Tab')
    await dialogOf(page).getByText('Reading…').waitFor()
    await untilFocused(page, dialogOf(page).getByRole('button', { name: 'Cancel' }))
    read()
    await untilFocused(page, dialogOf(page).getByLabel('Tag', { exact: true }))
    await page.keyboard.type('new')
    await service.send('DELETE', '/plants/3001')
    const work = await holdAnswers(page, '**/plants/import*', 'POST')
    await page.keyboard.press('Enter')
    await untilFocused(page, dialogOf(page).getByRole('button', { name: 'Stop' }))
    work()
    await dialogOf(page).getByText('Somebody has deleted 3001 meanwhile').waitFor()
    await untilFocused(page, dialogOf(page).getByRole('button', { name: 'Not now' }))
    await page.keyboard.press('Enter')
    await dialogOf(page).waitFor({ state: 'detached' })
  })

  inBrowser('where the plants could not be read, and are read at a second attempt', async (opened) => {
    const { page } = opened
    const fault = { status: 403, json: { error: 40301, message: 'no' } }
    const answerAgain = await intercept(page, '**/plants/export*', (route) => route.fulfill(fault))
    await asked(opened, 4000, 'Select all that match')
    await pressAction(page, 'Delete', 'Shift+Tab')
    await dialogOf(page).getByText('Not everything could be read. Your token does not allow this.').waitFor()
    await untilFocused(page, dialogOf(page).getByRole('button', { name: 'Cancel' }))
    await answerAgain()
    await pressOn(page, dialogOf(page).getByRole('button', { name: 'Try again' }))
    await dialogOf(page).getByText('3 plants selected').waitFor()
    await untilFocused(page, dialogOf(page).getByRole('button', { name: 'Cancel' }))
  })

  inBrowser('and takes nothing that the person does after leaving it while the table reads again', async (opened) => {
    const { page } = opened
    await asked(opened, 2300, 'Set tag')
    await untilFocused(page, dialogOf(page).getByLabel('Tag', { exact: true }))
    const release = await holdAnswers(page, /\/plants\?.*limit=100/, 'GET')
    await page.keyboard.type('new')
    await page.keyboard.press('Enter')
    await page.locator('.notice').getByText('Set the tag new for 3 plants').waitFor()
    await page.keyboard.press('Escape')
    await dialogOf(page).waitFor({ state: 'detached' })
    await page.getByLabel('Select 2300', { exact: true }).click()
    await page.getByText('1 plant selected', { exact: true }).waitFor()
    const answered = page.waitForResponse(/\/plants\?.*limit=100/)
    release()
    await (await answered).finished()
    for (let frame = 0; frame < 10; frame++) await page.evaluate('new Promise(requestAnimationFrame)')
    assert.equal(await page.getByText('1 plant selected', { exact: true }).count(), 1)
    await untilFocused(page, page.getByLabel('Select 2300', { exact: true }))
  })
})
