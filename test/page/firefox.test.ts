import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENTER, ESCAPE, Firefox, hasFirefox } from '../support/firefox.ts'
import { LOOKS, speaking } from '../support/looks.ts'
import { notTestedHere } from '../support/not-tested.ts'
import { DESKTOP, PHONE } from '../support/page.ts'
import { plantSome } from '../support/page-languages.ts'
import { fill } from '../support/page-plants.ts'
import { SECRET, withService } from '../support/service.ts'

test('in Firefox, no control of the list, a selection, an edit or a conflict covers another one, and a second Enter drops nothing', async (t) => {
  if (!hasFirefox) return notTestedHere(t, 'the page at / in Firefox')
  const service = await withService(t)
  await plantSome(service)
  const firefox = await Firefox.start(t)
  await firefox.open(`http://127.0.0.1:${service.port}/#token=${SECRET}`)
  const click = async (selector: string) => {
    await firefox.until(`document.querySelector('${selector}') !== null`)
    await firefox.evaluate(`document.querySelector('${selector}').click()`)
  }
  const row = '[role=row][data-id="3"]'
  for (const size of [DESKTOP, PHONE]) {
    await firefox.resize(size)
    const look = async (what: string, sign: string) => {
      await firefox.until(`document.querySelector('${sign}') !== null`)
      for (const language of ['en', 'de']) {
        await firefox.evaluate(speaking(language))
        await firefox.until(`document.documentElement.lang === '${language}'`)
        assert.deepEqual(await firefox.evaluate(LOOKS), [], `${what}, ${language}, ${size.width} pixels`)
      }
    }
    await look('the list', row)
    await click(`${row} input[type=checkbox]`)
    await look('a selection', '.selection')
    await click('.selection .clear')
    await click(`${row} .actions button`)
    await look('an edit', `${row} textarea`)
    await firefox.until(`document.activeElement.matches('${row} textarea')`)
    await firefox.press('x')
    const typed = await firefox.evaluate<string>('document.activeElement.value')
    await service.sendJson('PATCH', '/plants/3', { tag: `of others, ${size.width}` })
    await firefox.press(ENTER)
    await look('a conflict', 'dialog .versions')
    // A second Enter clicks what has the focus. A Firefox without a window has no focus of the system, and clicks nothing.
    await firefox.evaluate('document.activeElement.click()')
    await firefox.until(`document.activeElement.matches('${row} textarea')`)
    assert.equal(await firefox.evaluate('document.activeElement.value'), typed)
    assert.match(
      (await service.send('GET', '/plants/3')).body,
      new RegExp(`"Ἄβρωτον","tag":"of others, ${size.width}"`),
    )
    await firefox.press(ESCAPE)
  }
})

test('in Firefox, an action is listed and undone as a whole while the clock of the device is a day behind', async (t) => {
  if (!hasFirefox) return notTestedHere(t, 'the page at / in Firefox')
  const service = await withService(t)
  await fill(service, 1, 2000, 'Salix')
  const firefox = await Firefox.start(t)
  await firefox.setBack(86_400_000)
  await firefox.open(`http://127.0.0.1:${service.port}/#token=${SECRET}`)
  await firefox.until(`document.querySelector('[role=row][data-id]') !== null`)
  await firefox.evaluate(`void (location.hash = '#/actions')`)
  const texts = (selector: string) =>
    firefox.evaluate<string[]>(`[...document.querySelectorAll('${selector}')].map(({ textContent }) => textContent)`)
  await firefox.until(`document.querySelector('.actions li button') !== null`)
  assert.deepEqual(await texts('.actions li strong'), ['2,000 plants added'])
  await firefox.evaluate(`document.querySelector('.actions li button').click()`)
  await firefox.until(`document.querySelector('dialog button.primary')?.textContent.includes('2,000') === true`)
  await firefox.evaluate(`document.querySelector('dialog button.primary').click()`)
  await firefox.until(`document.querySelector('dialog') === null`)
  assert.equal((await service.plants()).length, 0)
})
