import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { openView, pressOn, signIn, signOut, signOver, untilFocused } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { askedBy, intercept, NO_NETWORK, withoutWaits } from '../support/page-network.ts'
import { SECRET } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { lockOut } from '../support/tokens.ts'

const FREE = { authorization: null }
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** The token that the device remembers. */
const STORED = `localStorage.getItem('plantstore-token')`
const NO_LINK = 'The link does not sign you in; you are still signed in as the operator.'
const REMEMBERED = { token: null, remembers: SECRET } as const

const HELD_UP = 'This network asks for a sign-in of its own.'

suite('the files of the page at /', () => {
  onService('are small, come only from the service, and contain no inline script or style', async (service) => {
    const page = await service.send('GET', '/', { ...FREE, headers: { Accept: BROWSER } })
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.equal(page.headers.vary, 'Accept, Accept-Encoding')
    const files = [...page.body.matchAll(/(?:src|href)="(\/page[^"]*)"/g)].map(([, path = '']) => path)
    const pictures = ['/page/icon.svg', '/page/icon-192.png']
    assert.deepEqual(files, ['/page/page.css', ...pictures, '/page/app.webmanifest', '/page/page.js'])
    assert.ok(!/<script(?![^>]*src=)|<style|\son\w+=/.test(page.body))
    const get = (path: string, headers = {}) =>
      service.send('GET', path, { ...FREE, headers: { Accept: `${BROWSER}, text/css`, ...headers } })
    for (const path of ['/', ...files]) {
      const { status, headers } = await get(path)
      const policy = String(headers['content-security-policy'])
      assert.equal(status, 200, path)
      assert.match(policy, /^default-src 'none'/)
      // WebAssembly reads the codes of labels. No text becomes a script.
      assert.ok(!/https?:|\*|unsafe-/.test(policy.replace("script-src 'self' 'wasm-unsafe-eval';", '')), policy)
      assert.equal(headers['set-cookie'], undefined)
      assert.equal((await get(path, { 'If-None-Match': String(headers.etag) })).status, 304, path)
    }
    const sizeOf = async (path: string): Promise<number> =>
      Number((await get(path, { 'Accept-Encoding': 'gzip, deflate, br, zstd' })).headers['content-length'])
    const sizes = await Promise.all(['/', ...files].map(sizeOf))
    const languages = await Promise.all(['de', 'es', 'fr', 'nl'].map((name) => sizeOf(`/page/${name}.js`)))
    const size = sizes.reduce((sum, one) => sum + one) + Math.max(...languages)
    assert.ok(size < 150_000, `the first view has ${size} bytes compressed`)
  })
})

suite('the page, for a person who signs in,', () => {
  const { inBrowser, onPhone } = pageTests()

  inBrowser('keeps a pasted token only in the tab', { token: null }, async ({ page, context, address }) => {
    await signIn(page, SECRET)
    await page.getByRole('search').waitFor()
    await page.reload()
    await page.getByRole('search').waitFor()
    const other = await context.newPage()
    await other.goto(address)
    await other.getByLabel('Access token').waitFor()
    assert.deepEqual(await context.cookies(), [])
  })

  inBrowser('sends the token of a link in headers alone, and hides it', { token: null }, async ({ page, address }) => {
    const asked = askedBy(page)
    await page.goto(`${address}#token=${SECRET}`)
    await page.getByRole('search').waitFor()
    assert.equal(page.url(), `${address}#/`)
    const isSafe = asked.every((url) => url.startsWith(address) && !url.includes(SECRET))
    assert.ok(isSafe, asked.join(' '))
  })

  inBrowser('loses no good token to a wrong one of a link', REMEMBERED, async ({ page, context, address }) => {
    const other = await context.newPage()
    for (const [tab, token] of [
      [page, 'wrong'],
      [other, 'wrong'],
      [page, '%E2%82%AC'],
    ] as const) {
      await tab.goto(`${address}#token=${token}`)
      await tab.getByText(`${NO_LINK} The service does not know this token`).waitFor()
      await tab.getByRole('search').waitFor()
      assert.equal(tab.url(), `${address}#/`)
      await tab.getByRole('button', { name: /^Dismiss: / }).click()
    }
    await page.goto(`${address}#token=`)
    await page.waitForURL(`${address}#/`)
    assert.equal(await page.evaluate(STORED), SECRET)
    await other.close()
    const third = await context.newPage()
    await third.goto(address)
    await third.getByRole('search').waitFor()
  })

  onPhone('asks before a link replaces the session, in the same tab and in another one', REMEMBERED, async (opened) => {
    const { page, context, service, address } = opened
    const { secret, token } = await service.issueToken(['plants:read', 'tokens'])
    const dialog = page.getByRole('dialog', { name: 'Sign in as a test instead?' })
    await openView(page, 'Tokens')
    await page.getByLabel('What is the token for?').fill('a season')
    await page.goto(`${address}#token=${secret}`)
    await dialog.getByText('the new token that you have not created').waitFor()
    assert.equal(page.url(), `${address}#/tokens`)
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('What is the token for?').inputValue(), 'a season')

    const other = await context.newPage()
    await other.goto(`${address}#token=${secret}`)
    await other.getByRole('button', { name: 'Cancel' }).click()
    await other.getByText('Signed in as the operator').waitFor()
    await other.goto(`${address}#token=${secret}`)
    await pressOn(other, other.getByRole('button', { name: 'Sign in with the link' }))
    await other.getByText('Signed in as a test').waitFor()
    await other.getByText('and remembers another one').waitFor()
    assert.equal(await other.evaluate(STORED), SECRET, 'the device remembers what it has remembered')

    await page.goto(`${address}#token=${secret}`)
    await pressOn(page, dialog.getByRole('button', { name: 'Sign in with the link' }))
    await page.getByText('Signed in as a test').waitFor()
    assert.equal(await page.getByLabel('What is the token for?').inputValue(), '')
    await lockOut(service, { secret, token })
    await other.reload()
    await other.getByText('The token of this tab was refused.').waitFor()
    await other.getByText('Signed in as the operator').waitFor()
  })

  inBrowser('lets a link replace a token that is refused without a question', async ({ page, address, context }) => {
    await page.evaluate(`localStorage.setItem('plantstore-token', 'ps_revoked')`)
    const other = await context.newPage()
    await other.goto(`${address}#token=${SECRET}`)
    await other.getByText('Signed in as the operator').waitFor()
    assert.equal(await other.evaluate(STORED), null)
  })

  onPhone('offers to remember the token of a link on the device', async ({ page, context, address }) => {
    await page.getByText('Signed in until you close the tab.').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Not now' }))
    const remember = page.getByRole('button', { name: 'Remember on this device' })
    await remember.waitFor({ state: 'detached' })
    assert.equal(await page.evaluate(STORED), null)
    const other = await context.newPage()
    await other.goto(`${address}#token=${SECRET}`)
    await pressOn(other, other.getByRole('button', { name: 'Remember on this device' }))
    assert.equal(await other.evaluate(STORED), SECRET)
    for (const place of ['', `#token=${SECRET}`]) {
      const third = await context.newPage()
      await third.goto(`${address}${place}`)
      await third.getByRole('search').waitFor()
      assert.equal(await third.getByRole('button', { name: 'Remember on this device' }).count(), 0)
    }
  })

  inBrowser('forgets no token because of an answer that is not from the service', REMEMBERED, async ({ page }) => {
    for (const [status, headers, said, again] of [
      // The page opens with what the device has seen, as without a network.
      [401, { 'WWW-Authenticate': 'Basic realm="proxy"' }, HELD_UP, 'Try now'],
      [403, {}, 'HTTP status 403.', 'Try again'],
      [404, {}, 'HTTP status 404.', 'Try again'],
    ] as const) {
      const pass = await intercept(page, '**/tokens/self', (route) =>
        route.fulfill({ status, headers, body: 'a proxy' }),
      )
      await page.reload()
      await page.getByText(said).first().waitFor()
      assert.equal(await page.evaluate(STORED), SECRET)
      const button = page.getByRole('button', { name: again }).first()
      await button.waitFor()
      await pass()
      const gone = page.getByText(said).first().waitFor({ state: 'detached' })
      // What is held up also goes on by itself, and takes the button with it.
      await Promise.any([button.click(), gone])
      await page.getByRole('search').waitFor()
      await gone
    }
    await intercept(page, '**/plants?*', (route) => route.fulfill({ status: 401, body: 'a proxy' }))
    await page.getByLabel('Search plants').fill('rosa')
    await page.getByText(HELD_UP).first().waitFor()
    await page.getByText('Signed in as the operator').waitFor()
  })

  inBrowser('refuses a pasted text that cannot be a token at once', { token: null }, async ({ page }) => {
    for (const wrong of ['ps_\u200b1', '€']) {
      await signIn(page, wrong)
      await page.getByText('A token has only letters, digits').waitFor()
    }
  })

  for (const [scopes, shown] of [
    [['plants:read'], ['Plants', 'Scan', 'Stocktake', 'Labels']],
    [['plants:write'], ['Add', 'Import']],
    [
      ['plants:read', 'plants:write', 'tokens'],
      ['Plants', 'Scan', 'Stocktake', 'Import', 'Labels', 'Tokens'],
    ],
  ] as const) {
    inBrowser(`shows what the scopes ${scopes.join(', ')} allow`, { token: null }, async ({ page, service }) => {
      const { secret } = await service.issueToken(scopes)
      await signIn(page, secret)
      await page.getByRole('navigation').waitFor()
      assert.deepEqual(await page.getByRole('navigation').getByRole('link').allInnerTexts(), shown)
      const mayAdd = scopes.some((scope) => scope === 'plants:write') && scopes.length > 1
      assert.equal(await page.getByRole('button', { name: 'Add a plant' }).count(), mayAdd ? 1 : 0)
      await assertAccessible(page)
    })
  }

  onPhone('says that an address has no view, or none for this token', async ({ page, service, address }) => {
    await page.goto(`${address}#/greenhouses`)
    await page.getByText('There is no page with this address.').waitFor()
    await page.getByRole('link', { name: 'Go to: Plants' }).click()
    await page.locator('#search').waitFor()
    const { secret } = await service.issueToken(['plants:read'])
    await signOver(page, address, secret)
    await page.locator('#search').waitFor()
    await page.goto(`${address}#/tokens`)
    await page.getByText('Your token does not open this page.').waitFor()
    await assertAtBothSizes(page)
    await page.getByRole('link', { name: 'Go to: Plants' }).click()
    await page.locator('#search').waitFor()
  })

  inBrowser('names the operator in words of people, also in a history', async ({ page, service, address }) => {
    await service.create({ id: 70, name: 'Acer griseum' })
    await page.getByText('Signed in as the operator').waitFor()
    await page.goto(`${address}#/plant?id=70`)
    await page.getByText('by the operator', { exact: true }).waitFor()
  })

  onPhone('signs in and out by keyboard alone', { token: null }, async ({ page, address, context }) => {
    await untilFocused(page, page.getByLabel('Access token'))
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('The service does not know this token').waitFor()
    await untilFocused(page, page.getByLabel('Access token'))
    await page.keyboard.type(SECRET)
    await pressOn(page, page.getByLabel('Remember on this device'), 'Space')
    await pressOn(page, page.getByRole('button', { name: 'Sign in' }))
    await page.getByRole('search').waitFor()
    await untilFocused(page, page.locator('main'))
    const other = await context.newPage()
    await other.goto(address)
    await other.getByRole('search').waitFor()
    await pressOn(other, other.getByRole('button', { name: 'Skip to the contents' }))
    await untilFocused(other, other.locator('main'))
    await signOut(other)
    await untilFocused(other, other.getByLabel('Access token'))
    assert.equal(await other.evaluate('localStorage.length + sessionStorage.length'), 0)
  })

  onPhone('retries with the token, also by itself', { token: null, expected: NO_NETWORK }, async (opened) => {
    const { page, context } = opened
    await page.clock.install()
    await page.getByLabel('Access token').fill(SECRET)
    await page.getByLabel('Remember on this device').check()
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await withoutWaits(page, page.getByText('The service cannot be reached.'))
    await assertAccessible(page)
    const again = page.getByRole('button', { name: 'Try again' })
    await pressOn(page, again)
    await again.waitFor({ state: 'detached' })
    await withoutWaits(page, again)
    await context.setOffline(false)
    await page.getByRole('search').waitFor()
    assert.equal(await page.evaluate(STORED), SECRET)
  })
})
