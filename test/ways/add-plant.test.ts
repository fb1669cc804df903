import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAccessible } from '../support/accessible.ts'
import { pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilCount } from '../support/labels.ts'
import { pageTests } from '../support/page.ts'
import { holdAnswers } from '../support/page-network.ts'
import { rowOf, storedPlant } from '../support/page-plants.ts'

suite('the page, for new plants,', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('adds plants with the next free id and with a typed id, by keyboard alone', async ({ page, service }) => {
    const proposed = (await service.send('GET', '/ids')).json as { next: number }
    const name = page.getByLabel('Name', { exact: true })
    await page.clock.install()
    await pressOn(page, page.getByRole('button', { name: 'Not now' }))
    await pressOn(page, page.getByRole('button', { name: 'Add a plant' }))
    await page.getByText(`Id: ${proposed.next}`).waitFor()
    await untilFocused(page, name)
    await page.keyboard.type('Ginkgo biloba')
    await page.keyboard.press('Tab')
    await page.keyboard.type('tree')
    // The page's clock stands, so that both messages stay until the test dismisses them.
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.keyboard.press('Enter')
    await page.getByText(`Added ${proposed.next} Ginkgo biloba`).waitFor()
    await untilFocused(page, name)
    const own = '9223372036854775807'
    await pressOn(page, page.getByRole('button', { name: 'Change the id' }))
    await untilFocused(page, page.getByLabel('Id', { exact: true }))
    await page.keyboard.type(own)
    await tabTo(page, name)
    await page.keyboard.type('End')
    // The field still has the tag of the previous plant, and Tab selects all of it.
    await tabTo(page, page.getByLabel('Tag', { exact: true }))
    await page.keyboard.press('Delete')
    await pressOn(page, page.getByRole('button', { name: 'Add', exact: true }))
    await rowOf(page, own).waitFor()
    await untilFocused(page, name)
    const dismiss = page.getByRole('button', { name: /^Dismiss: / })
    await pressOn(page, dismiss.first())
    await untilFocused(page, dismiss.first())
    await page.keyboard.press('Enter')
    await untilFocused(page, page.locator('main'))
    assert.equal((await service.send('GET', `/plants/${own}`)).body, `{"id":${own},"name":"End"}`)
    await service.send('DELETE', `/plants/${own}`)
  })

  inBrowser('moves the focus to the name at once, never away from the person, and keeps the next', async ({ page }) => {
    const focused = await page.evaluate<string>(`new Promise((resolve) => {
      new MutationObserver(() => {
        if (document.getElementById('new-name') !== null) resolve(document.activeElement.id)
      }).observe(document.body, { childList: true, subtree: true })
      document.querySelector('.toolbar button.primary').click()
    })`)
    assert.equal(focused, 'new-name')
    const release = await holdAnswers(page, /\/plants$/, 'POST')
    await page.keyboard.type('Salix')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Add…' }).waitFor()
    await page.keyboard.type('Populus')
    await page.keyboard.press('Tab')
    release()
    await page.getByText('Added').waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Populus')
    await untilFocused(page, page.getByLabel('Tag', { exact: true }))
  })

  inBrowser('says what is wrong with an id, and keeps the typed text', async ({ page, service }) => {
    const id = '7'
    await service.create({ id: Number(id), name: 'Taken' })
    await page.getByRole('button', { name: 'Add a plant' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Second')
    await page.getByRole('button', { name: 'Change the id' }).click()
    for (const [wrong, why] of [
      ['9223372036854775808', 'An id is a whole number'],
      ['1.5', 'An id is a whole number'],
      [id, `Another plant has this id.`],
    ] as const) {
      await page.getByLabel('Id', { exact: true }).fill(wrong)
      await page.keyboard.press('Enter')
      await page.getByText(why).waitFor()
    }
    await page.reload()
    await page.getByRole('button', { name: 'Add a plant' }).click()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Second')
    assert.equal(await page.getByLabel('Id', { exact: true }).inputValue(), id)
    await page.getByRole('form', { name: 'New plant' }).getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Add a plant', exact: true }).click()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '', 'Cancel keeps the typed text')
  })

  inBrowser('says below each field that its text is too long', { locale: 'de-DE' }, async ({ page, service }) => {
    const [longName, longTag] = ['Ein Name darf höchstens 1.000 Zeichen haben.', 'Ein Schlagwort darf höchstens 200']
    const [name, tag] = ['🌵'.repeat(1000), '🌱'.repeat(200)]
    const alerts = page.locator('main [role=alert]')
    await page.getByRole('button', { name: 'Pflanze hinzufügen' }).click()
    await page.getByLabel('Name', { exact: true }).fill(`${name}x`)
    await alerts.filter({ hasText: longName }).waitFor()
    await page.getByLabel('Schlagwort', { exact: true }).fill(`${tag}x`)
    await alerts.filter({ hasText: longTag }).waitFor()
    await assertAccessible(page)
    await page.keyboard.press('Enter')
    await alerts
      .filter({ hasText: `Nicht gespeichert; Ihre Eingabe bleibt erhalten. ${longName} ${longTag}` })
      .waitFor()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByLabel('Schlagwort', { exact: true }).fill(tag)
    await untilCount(alerts.filter({ hasText: 'höchstens' }).filter({ hasNotText: 'Nicht gespeichert' }), 0)
    await page.keyboard.press('Enter')
    const row = page.locator('[role=row][data-id]').filter({ hasText: name })
    await row.waitFor()
    const id = String(await row.getAttribute('data-id'))
    await row.getByRole('button', { name: 'Bearbeiten' }).click()
    await rowOf(page, id).locator('textarea').last().fill(`${tag}x`)
    await rowOf(page, id).getByRole('alert').filter({ hasText: longTag }).waitFor()
    await page.keyboard.press('Escape')
    assert.deepEqual(await storedPlant(service, id), { id: Number(id), name, tag })
    await service.send('DELETE', `/plants/${id}`)
  })
})
