import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, assertForFingers } from '../support/accessible.ts'
import { openMenu, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { DESKTOP, PHONE, pageTests, until } from '../support/page.ts'
import { plantSome, tour } from '../support/page-languages.ts'
import { intercept } from '../support/page-network.ts'
import { speakPseudo } from '../support/pseudo-language.ts'
import { SECRET } from '../support/service.ts'

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

suite('the page speaks', () => {
  const { inBrowser, onPhone } = pageTests()

  for (const [locale, plants, token] of LOCALES) {
    inBrowser(`the language of a browser in ${locale}`, { token: null, locale }, async ({ page }) => {
      await page.getByLabel(token).fill(SECRET)
      await page.keyboard.press('Enter')
      await until(page, `document.title === '${plants} – Plantstore'`)
      assert.equal(await page.locator('html').getAttribute('lang'), locale.slice(0, 2))
    })
  }

  onPhone(
    'texts as long as those of any language, or half as long again: no view is wider than its window, no control is too small for a finger, and no text is left in English',
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
    'English where it has no language of the browser, and the one that the person chooses from then on',
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

  inBrowser(
    'the language that it has where another one cannot be loaded, and says so',
    { expected: /net::ERR_/ },
    async ({ page }) => {
      await intercept(page, '**/page/nl.js', (route) => route.abort())
      await openMenu(page)
      await page.getByLabel('Language').selectOption('nl')
      await page.getByText('The language could not be loaded. Try again.').waitFor()
      assert.equal(await page.getByLabel('Language').inputValue(), 'en')
    },
  )

  inBrowser(
    'its own words for refusals that people meet, and quotes the others in English',
    { locale: 'de-DE' },
    async ({ page, address }) => {
      await page.goto(`${address}#/tokens`)
      await page.locator('#token-name').fill('κλείς')
      await page.locator('#token-day').fill('2001-01-01')
      await page.locator('form.new-token button[type=submit]').click()
      const alert = page.getByRole('alert').filter({ hasText: 'Nicht gespeichert; Ihre Eingabe bleibt erhalten.' })
      await alert
        .locator('[lang=en]')
        .filter({ hasText: /expiresAt/i })
        .waitFor()
      await intercept(page, '**/tokens', async (route) => {
        const json = { error: 40904, message: 'the store has 1000 active tokens' }
        if (route.request().method() === 'POST') await route.fulfill({ status: 409, json })
        else await route.continue()
      })
      await page.locator('form.new-token button[type=submit]').click()
      await page
        .getByText(
          'Nicht gespeichert; Ihre Eingabe bleibt erhalten. Der Bestand hat so viele Token, wie der Betreiber erlaubt.',
        )
        .waitFor()
      assert.equal(await alert.locator('[lang]').count(), 0)
    },
  )

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
