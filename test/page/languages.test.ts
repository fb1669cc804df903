import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { assertAccessible, assertFits, assertForFingers } from '../support/accessible.ts'
import { openMenu, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { DESKTOP, PHONE, pageTests, until } from '../support/page.ts'
import { plantSome, tour } from '../support/page-languages.ts'
import { intercept } from '../support/page-network.ts'
import { speakPseudo } from '../support/pseudo-language.ts'
import { SECRET, withService } from '../support/service.ts'
import { translator } from '../support/translator.ts'

/** A locale of each language, and two words of the page in it. */
const LOCALES = [
  ['en-GB', 'Plants', 'Access token'],
  ['de-AT', 'Pflanzen', 'Zugangstoken'],
  ['fr-CA', 'Plantes', 'Jeton d’accès'],
  ['es-MX', 'Plantas', 'Token de acceso'],
  ['nl-BE', 'Planten', 'Toegangstoken'],
] as const

/**
 * Names of formats, scopes and files, which no language changes; names of encodings with languages, and the word between
 * the last two parts of a list, both of which the browser knows.
 */
const CONSTANT =
  / und |Plantstore|PLANTSTORE_TOKEN|plants:(?:read|write)|tokens|webhooks|tok_\w+|UTF|κλείς|Macintosh \(Mac Roman\)|(?:Windows-125\d|Shift JIS|GB 18030|EUC-KR) \([^)]*\)/g

/**
 * Returns the texts of the page, seen or heard, that have an English word. Leaves out what people and programs have
 * named, and what says that it is in English.
 */
const englishIn = (page: Page): Promise<readonly string[]> =>
  page.evaluate<readonly string[]>(`(() => {
    const kept = 'noscript, bdi, code, [dir=auto], input, textarea, body [lang]'
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts = [document.title]
    while (walker.nextNode()) if (walker.currentNode.parentElement.closest(kept) === null) texts.push(walker.currentNode.data)
    for (const element of document.querySelectorAll('[aria-label], [placeholder], [title], [alt]')) {
      if (element.closest('body [lang]') !== null) continue
      for (const name of ['aria-label', 'placeholder', 'title', 'alt']) texts.push(element.getAttribute(name) ?? '')
    }
    return texts.filter((text) => /[a-z]{2}/i.test(text.replaceAll(${CONSTANT}, '').replaceAll(/https?:\\S*/g, '')))
  })()`)

/** What no two runs have in common: secrets, ids of tokens, times, ports. */
const VARYING = /ps_\w+|tok_\w+|\d+:\d\d(:\d\d)?|127\.0\.0\.1:\d+/g

/** The texts at each stop of a tour, with names in Greek letters where the browser would translate them. */
async function texts(context: BrowserContext, address: string): Promise<readonly string[]> {
  const page = await context.newPage()
  const asked = new Set<Request>()
  page.on('request', (request) => {
    // The stream of changes never ends.
    if (!request.url().includes('/changes')) asked.add(request)
  })
  page.on('requestfinished', (request) => asked.delete(request))
  page.on('requestfailed', (request) => asked.delete(request))
  await page.goto(`${address}#token=${SECRET}`)
  await page.getByRole('search').waitFor()
  const found: string[] = []
  await tour(page, address, async (what) => {
    // A translation comes a moment later; texts that are still on their way do as well, such as why there is no camera.
    let [before, now] = ['', await page.locator('body').innerText()]
    while (before !== now || asked.size > 0 || now.includes('Opening the camera')) {
      await page.evaluate('new Promise((done) => setTimeout(done, 50))')
      ;[before, now] = [now, await page.locator('body').innerText()]
    }
    const open = await page.evaluate<readonly string[]>(`(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      const found = []
      while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode
        const isKept = parentElement.closest('[translate=no], textarea, option, noscript') !== null
        if (/[Ρρ]όδον|[Ἄἄ]βρωτον|θάμνος|πόα|κλείς/.test(data) && !isKept) found.push(parentElement.outerHTML)
      }
      return found
    })()`)
    assert.deepEqual(open, [], what)
    found.push(`${what}: ${now.replaceAll(VARYING, '')}`)
  })
  await page.close()
  return found
}

const { inBrowser, onPhone } = pageTests()

suite('the page speaks', () => {
  for (const [locale, plants, token] of LOCALES) {
    inBrowser(`the language of a browser in ${locale}`, { token: null, locale }, async ({ page }) => {
      await page.getByLabel(token).fill(SECRET)
      await page.keyboard.press('Enter')
      await until(page, `document.title === '${plants} – Plantstore'`)
      assert.equal(await page.locator('html').getAttribute('lang'), locale.slice(0, 2))
    })
  }

  onPhone(
    'the longest texts in views that fit their window and a finger, and no English',
    { token: null, locale: 'de-DE', hasTouch: true },
    async ({ page, address, service }) => {
      await plantSome(service)
      const look = async (what: string) => {
        for (const size of [DESKTOP, PHONE]) {
          await page.setViewportSize(size)
          await assertFits(page)
        }
        await assertForFingers(page)
        assert.deepEqual(await englishIn(page), [], what)
      }
      await intercept(page, '**/page/de.js', speakPseudo)
      await page.goto(address)
      await page.locator('#token').waitFor()
      await look('the sign-in')
      await page.locator('#token').fill(SECRET)
      await page.keyboard.press('Enter')
      await tour(page, address, look)
    },
  )

  for (const locale of ['fr', 'es']) {
    onPhone(`${locale} in the question of a link, with both answers in one line`, { locale }, async ({ page }) => {
      const answers = page.locator('.remember button')
      await answers.nth(1).waitFor()
      const tops = await answers.evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().top))
      assert.equal(new Set(tops).size, 1)
    })
  }

  inBrowser(
    'English for unknown ones, and what the person chooses',
    { token: null, locale: 'pt-BR' },
    async ({ page, context, address }) => {
      assert.equal(await page.locator('html').getAttribute('lang'), 'en')
      await page.getByLabel('Access token').fill('typed')
      await pressOn(page, page.getByLabel('Language'), 'D')
      await page.getByLabel('Zugangstoken').waitFor()
      assert.equal(await page.locator('html').getAttribute('lang'), 'de')
      assert.equal(await page.getByLabel('Zugangstoken').inputValue(), 'typed')
      await untilFocused(page, page.getByLabel('Sprache'))
      await assertAccessible(page)
      await page.reload()
      await page.getByLabel('Zugangstoken').waitFor()
      const other = await context.newPage()
      await other.goto(address)
      await other.getByLabel('Zugangstoken').waitFor()
    },
  )

  inBrowser('another language at once, and keeps what is typed, the focus and the place', async ({ page, service }) => {
    await plantSome(service)
    await page.getByRole('button', { name: 'Add a plant' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Rosa')
    await page.getByRole('button', { name: 'Edit: 3' }).click()
    await page.getByLabel('Name: 3').fill('Artemisia')
    await openMenu(page, 'Shift+Tab')
    await pressOn(page, page.getByLabel('Language'), 'F')
    await page.getByRole('button', { name: 'Ajouter une plante' }).waitFor()
    await untilFocused(page, page.getByLabel('Langue'))
    assert.equal(await page.getByLabel('Nom', { exact: true }).inputValue(), 'Rosa')
    assert.equal(await page.getByLabel(/^Nom\s: 3$/).inputValue(), 'Artemisia')
    await until(page, `document.title === 'Plantes – Plantstore'`)
    await page.getByText('3 plantes', { exact: true }).first().waitFor()
    await tabTo(page, page.getByLabel(/^Nom\s: 3$/))
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^Modifier\s: 3$/ }).waitFor()
  })

  inBrowser('the language that it has where another does not load', { expected: /net::ERR_/ }, async ({ page }) => {
    await intercept(page, '**/page/nl.js', (route) => route.abort())
    await openMenu(page)
    await page.getByLabel('Language').selectOption('nl')
    await page.getByText('The language could not be loaded. Try again.').waitFor()
    assert.equal(await page.getByLabel('Language').inputValue(), 'en')
  })

  inBrowser('its own words for refusals, and quotes rare ones', { locale: 'de-DE' }, async ({ page, address }) => {
    await page.goto(`${address}#/tokens`)
    await page.locator('#token-name').fill('κλείς')
    await page.locator('#token-day').fill('2001-01-01')
    await page.locator('form.new-token button[type=submit]').click()
    const alert = page.getByRole('alert').filter({ hasText: 'Nicht gespeichert; Ihre Eingabe bleibt erhalten.' })
    await alert.locator('[lang=en]', { hasText: /expiresAt/i }).waitFor()
    await intercept(page, '**/tokens', async (route) => {
      const json = { error: 40904, message: 'the store has 1000 active tokens' }
      if (route.request().method() === 'POST') await route.fulfill({ status: 409, json })
      else await route.continue()
    })
    await page.locator('form.new-token button[type=submit]').click()
    await alert.filter({ hasText: 'Der Bestand hat so viele Token, wie der Betreiber erlaubt.' }).waitFor()
    assert.equal(await alert.locator('[lang]').count(), 0)
  })

  inBrowser('its own words for the faults that rows of people have', { locale: 'de-DE' }, async ({ page, address }) => {
    await page.goto(`${address}#/import`)
    const rows = ['1,2E+15;Rosa;x', '7001;Rosa "Peace" b;x', '7002;Rosa;x;y', '7003;Ro\u0000sa;x', '7004;"Rosa;x']
    const buffer = Buffer.from(['id;name;tag', ...rows].join('\n'))
    await page.locator('input[type=file]').setInputFiles({ name: 'rosen.csv', mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Datei prüfen' }).click()
    const result = page.getByRole('region', { name: 'Abgelehnte Zeilen' })
    for (const text of ['gerundet', 'Anführungszeichen', 'zu viele oder zu wenige Zellen', 'ein Zeichen, das']) {
      await result.getByText(text).first().waitFor()
    }
    assert.equal(await result.locator('[lang=en]').count(), 0)
  })
})

suite('the page, under the translation of a browser,', () => {
  onPhone('says in every view what it says without one, and leaves names alone', async (opened) => {
    const { context, t } = opened
    // Each has the history of one planting.
    const [first, other] = [await withService(t), await withService(t)]
    for (const each of [first, other]) await plantSome(each)
    const plain = await texts(context, `http://127.0.0.1:${first.port}/`)
    await context.addInitScript(translator('text'))
    const translated = await texts(context, `http://127.0.0.1:${other.port}/`)
    assert.equal(translated.length, plain.length)
    for (const [i, text] of plain.entries()) assert.equal(translated[i], text)
  })

  inBrowser('counts what is selected and keeps the order of its texts', async ({ page, context, address, service }) => {
    for (const id of [701, 702, 703]) await service.create({ id, name: `Translated ${id}`, tag: 'bed' })
    await context.addInitScript(translator('text.toUpperCase()'))
    await page.goto(`${address}#/plants?q=translated`)
    await page.reload()
    const selected = (plants: string) =>
      page.locator('.selection').getByText(`${plants} SELECTED`, { exact: true }).waitFor()
    for (const [i, id] of [701, 702, 703].entries()) {
      await page.getByLabel(`Select ${id}`, { exact: true }).click()
      await selected(i === 0 ? '1 PLANT' : `${i + 1} PLANTS`)
    }
    await page.locator('.selection').getByText('DELETE', { exact: true }).first().click()
    await page.getByRole('dialog').getByText('DELETE 3 PLANTS', { exact: true }).waitFor()
    const listed = await page.getByRole('dialog').locator('li').allTextContents()
    assert.deepEqual(listed, ['Translated 701', 'Translated 702', 'Translated 703'])
    await page.keyboard.press('Escape')
    await page.getByLabel('Select 702', { exact: true }).click()
    await selected('2 PLANTS')
    assert.equal(await page.locator('[role=row][data-id="701"] .id').getAttribute('translate'), 'no')
    assert.equal(await page.locator('[role=row][data-id="701"] .name').innerText(), 'Translated 701')
    assert.equal(await page.locator('[role=row][data-id="701"] .tag').innerText(), 'bed')
  })
})
