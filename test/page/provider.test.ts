import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible } from '../support/accessible.ts'
import { openView, pressOn, signIn, signOut, untilFocused } from '../support/by-keyboard.ts'
import { Issuer } from '../support/issuer.ts'
import { pageTests, until as untilInPage } from '../support/page.ts'
import { askedBy, NO_NETWORK } from '../support/page-network.ts'
import { addPlant } from '../support/page-plants.ts'
import { SECRET, withService } from '../support/service.ts'
import { until } from '../support/until.ts'

const FREE = { authorization: null, headers: { Accept: 'text/html' } }

suite('the page, for a person of an identity provider,', () => {
  let issuer: Issuer
  const { inBrowser, onPhone } = pageTests({
    settings: async (scene) => {
      issuer = await Issuer.start(scene)
      return issuer.settings
    },
    token: null,
    expected: NO_NETWORK,
  })
  const button = (page: Page) => page.getByRole('button', { name: `Sign in with ${new URL(issuer.url).host}` })

  /** Signs in at the provider, which asks for the name only once in a browser. */
  async function signInThere(page: Page, { isKnown = false } = {}): Promise<void> {
    await button(page).click()
    // The provider's pages focus these, and Chromium complains if the person is sooner.
    if (!isKnown) {
      const name = page.locator('input[name=login]')
      await untilFocused(page, name)
      await name.fill('anna')
      await page.locator('input[name=password]').fill('any')
      await page.locator('button[type=submit]').click()
    }
    const goOn = page.getByRole('button', { name: 'Continue' })
    await untilFocused(page, goOn)
    await goOn.click()
    await page.getByText('Signed in as anna').waitFor()
  }

  onPhone('signs in there, and keeps the tokens in this tab alone', async ({ page, context, service, address }) => {
    await assertAccessible(page)
    const asked = askedBy(page)
    await signInThere(page)
    await page.getByRole('search').waitFor()
    assert.equal(page.url(), `${address}#/`)
    assert.ok(!asked.some((url) => url.startsWith(address) && /[?&#]code=/.test(url)), asked.join('\n'))
    const id = String(Date.now())
    await addPlant(page, 'Rose', id)
    await until(() => service.audited.some((line) => line.includes(`"plant":"${id}"`)), 'nothing was added')
    const line = service.audited.find((each) => each.includes(`"plant":"${id}"`))
    assert.match(line ?? '', /"token":"oidc:anna","tokenName":"anna"/)
    assert.equal(await page.evaluate('localStorage.length'), 0)
    assert.ok(
      (await context.cookies(address)).every(({ httpOnly }) => httpOnly),
      'only those of the provider',
    )
    await page.reload()
    await page.getByText('Signed in as anna').waitFor()
    await signOut(page)
    await button(page).waitFor()
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
  })

  inBrowser('signs in by the provider below the path of the service, and returns there', async ({ page, t }) => {
    const below = await withService(t, { ...issuer.settings, publicUrl: 'https://example.org/garden' })
    await page.goto(`http://127.0.0.1:${below.port}/garden/#/plants?q=rose`)
    await signInThere(page)
    await page.getByRole('search').waitFor()
    assert.equal(page.url(), `http://127.0.0.1:${below.port}/garden/#/plants?q=rose`)
    assert.deepEqual((await page.evaluate<string[]>('Object.keys(sessionStorage)')).toSorted(), [
      'plantstore-own/garden',
      'plantstore-renewal/garden',
      'plantstore-token/garden',
    ])
  })

  inBrowser('may send requests to the provider, and to no other address besides the service', async ({ service }) => {
    const { headers, body } = await service.send('GET', '/', FREE)
    assert.match(String(headers['content-security-policy']), new RegExp(`connect-src 'self' ${issuer.url};`))
    assert.ok(body.includes(`<meta name="oidc-issuer" content="${issuer.url}">`))
    const docs = await service.send('GET', '/docs', FREE)
    assert.match(String(docs.headers['content-security-policy']), /connect-src 'self';/)
  })

  inBrowser('renews the sign-in before it ends, also by a clock set back, while people work on', async ({ page }) => {
    await signInThere(page)
    const first = await page.evaluate(`sessionStorage.getItem('plantstore-token')`)
    for (const [times, sought] of [
      ['expiresAt: Date.now() + 29_000', 'rose'],
      ['madeAt: Date.now() + 90_000', 'fern'],
    ] as const) {
      await page.evaluate(`(() => {
          const renewal = JSON.parse(sessionStorage.getItem('plantstore-renewal'))
          sessionStorage.setItem('plantstore-renewal', JSON.stringify({ ...renewal, ${times} }))
        })()`)
      const renewed = page.waitForResponse(`${issuer.url}/token`)
      await page.getByLabel('Search plants').fill(sought)
      assert.equal((await renewed).status(), 200)
      await untilInPage(
        page,
        `JSON.parse(sessionStorage.getItem('plantstore-renewal') ?? 'null')?.madeAt <= Date.now()`,
      )
    }
    await openView(page, 'Tokens')
    await page.getByRole('heading', { name: 'All tokens' }).waitFor()
    // The page keeps the new token once it has read the answer.
    await untilInPage(page, `sessionStorage.getItem('plantstore-token') !== ${JSON.stringify(first)}`)
    await page.reload()
    await page.getByText('Signed in as anna').waitFor()
  })

  inBrowser('keeps all that is typed after the sign-in has expired, until the next', async ({ page, address, t }) => {
    issuer.renews = false
    t.after(() => {
      issuer.renews = true
    })
    await signInThere(page)
    await openView(page, 'Tokens')
    await page.getByLabel('What is the token for?').fill('a season')
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_700_000 })
    // The end of the stream may sign the person out before a click on the link.
    await page.evaluate(`location.hash = '#/plants'`)
    await page.getByText('what you typed is kept').waitFor()
    page.on('dialog', (dialog) => assert.fail(dialog.message()))
    await signInThere(page, { isKnown: true })
    assert.equal(page.url(), `${address}#/plants`, 'the page returns to where the person was')
    await openView(page, 'Tokens')
    assert.equal(await page.getByLabel('What is the token for?').inputValue(), 'a season')
    page.removeAllListeners('dialog')
    page.on('dialog', (dialog) => void dialog.accept())
  })

  inBrowser('signs nobody in with an answer that it did not ask for, or not of the provider', async (opened) => {
    const { page, address } = opened
    const asked = askedBy(page)
    await page.goto(`${address}#code=stolen&state=invented&iss=${issuer.url}`)
    await button(page).waitFor()
    assert.equal(page.url(), `${address}#/`)
    const found = asked.filter((url) => url.startsWith(issuer.url))
    assert.deepEqual(found, [])
    for (const [answer, why] of [
      [(state: string) => `code=x&state=${state}x&iss=${issuer.url}`, 'unexpected "state"'],
      [(state: string) => `code=x&state=${state}&iss=https://id.example`, 'unexpected "iss"'],
      [(state: string) => `code=x&state=${state}`, '"iss" (issuer) missing'],
      [(state: string) => `error=access_denied&state=${state}&iss=${issuer.url}`, 'access_denied'],
    ] as const) {
      const leaving = page.waitForRequest((request) => request.url().startsWith(`${issuer.url}/auth?`))
      await button(page).click()
      const parameters = new URL((await leaving).url()).searchParams
      assert.deepEqual([parameters.get('code_challenge_method'), parameters.get('response_type')], ['S256', 'code'])
      await page.locator('input[name=login]').waitFor()
      await page.goto(`${address}#${answer(parameters.get('state') ?? '')}`)
      await page.getByRole('alert').filter({ hasText: why }).waitFor()
      assert.equal(page.url(), `${address}#/`)
    }
    assert.ok(!asked.some((url) => url === `${issuer.url}/token`))
    await signIn(page, SECRET)
    await page.getByRole('search').waitFor()
  })

  inBrowser('says that the provider is away or gives no rights here, and still takes tokens', async ({ page }) => {
    await issuer.leave()
    await pressOn(page, button(page))
    await page.getByRole('alert').filter({ hasText: 'does not answer, or not to this page' }).waitFor()
    await assertAccessible(page)
    await issuer.comeBack()
    await signIn(page, await issuer.sign({ scope: 'none' }))
    await page.getByText('You have no rights in this service.').waitFor()
    await signIn(page, await issuer.sign({ aud: 'else' }))
    await page.getByText('The access token has a wrong claim aud, or none.').waitFor()
  })
})
