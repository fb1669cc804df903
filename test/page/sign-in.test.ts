import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import {
  assertAccessible,
  assertFits,
  DESKTOP,
  NO_NETWORK,
  PHONE,
  pageTests,
  pressOn,
  untilFocused,
  withoutWaits,
} from '../support/page.ts'
import { errorOf, SECRET, withService } from '../support/service.ts'

const FREE = { authorization: null }
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const FOLDER = new URL('../../web/dist/', import.meta.url)

suite('the files of the page at /', () => {
  test('are small, come only from the service, and contain no inline script or style', async (t) => {
    const service = await withService(t)
    const page = await service.send('GET', '/', { ...FREE, headers: { Accept: BROWSER } })
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.equal(page.headers.vary, 'Accept, Accept-Encoding')
    const files = [...page.body.matchAll(/(?:src|href)="(\/page[^"]*)"/g)].map(([, path = '']) => path)
    assert.deepEqual(files, ['/page/page.css', '/page/icon.svg', '/page/page.js'])
    assert.ok(!/<script(?![^>]*src=)|<style|\son\w+=/.test(page.body))
    for (const path of ['/', ...files]) {
      const { status, headers } = await service.send('GET', path, {
        ...FREE,
        headers: { Accept: `${BROWSER}, text/css` },
      })
      const policy = String(headers['content-security-policy'])
      assert.equal(status, 200, path)
      assert.match(policy, /^default-src 'none'/)
      assert.ok(!/https?:|\*|unsafe-/.test(policy), policy)
      assert.equal(headers['set-cookie'], undefined)
      const again = await service.send('GET', path, {
        ...FREE,
        headers: { Accept: BROWSER, 'If-None-Match': String(headers.etag) },
      })
      assert.equal(again.status, 304, path)
    }
    const sizes = readdirSync(FOLDER).map((name) => brotliCompressSync(readFileSync(new URL(name, FOLDER))).length)
    const whole = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(whole < 150_000, `the page has ${whole} bytes compressed`)
  })

  test('are not served if the page is switched off, and / redirects to the contract', async (t) => {
    const service = await withService(t, { page: 'off' })
    for (const [accept, location] of [
      [BROWSER, '/docs'],
      ['*/*', '/openapi.json'],
    ] as const) {
      const { status, headers } = await service.send('GET', '/', { ...FREE, headers: { Accept: accept } })
      assert.deepEqual([status, headers.location], [303, location])
    }
    assert.equal(errorOf(await service.send('GET', '/page/page.js', FREE)), 40401)
  })
})

suite('the page, for a person who signs in,', () => {
  const inBrowser = pageTests()

  inBrowser(
    'keeps a pasted token only in the tab',
    async ({ page, context, address }) => {
      await page.getByLabel('Access token').fill('wrong')
      await page.keyboard.press('Enter')
      await page.getByText('The service does not know this token').waitFor()
      await page.getByLabel('Access token').fill(SECRET)
      await page.keyboard.press('Enter')
      await page.getByRole('grid').waitFor()
      await page.reload()
      await page.getByRole('grid').waitFor()
      const other = await context.newPage()
      await other.goto(address)
      await other.getByLabel('Access token').waitFor()
      assert.deepEqual(await context.cookies(), [])
    },
    { token: null },
  )

  inBrowser(
    'keeps the token on the device if asked to, until the person signs out',
    async ({ page, context, address }) => {
      await page.getByLabel('Access token').fill(SECRET)
      await page.getByLabel('Remember on this device').check()
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('grid').waitFor()
      const other = await context.newPage()
      await other.goto(address)
      await other.getByRole('button', { name: 'Sign out' }).click()
      await other.getByLabel('Access token').waitFor()
      assert.equal(await other.evaluate('localStorage.length + sessionStorage.length'), 0)
    },
    { token: null },
  )

  inBrowser(
    'removes the token of a link from the address, and sends it only to the service, in a header',
    async ({ page, address }) => {
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.goto(`${address}#token=${SECRET}`)
      await page.getByRole('grid').waitFor()
      assert.equal(page.url(), `${address}#/plants`)
      assert.ok(
        asked.every((url) => url.startsWith(address) && !url.includes(SECRET)),
        asked.join(' '),
      )
    },
    { token: null },
  )

  for (const [scopes, shown] of [
    [['plants:read'], ['Plants', 'Labels']],
    [['plants:write'], ['Add', 'Import']],
    [['tokens'], ['Tokens']],
    [
      ['plants:read', 'plants:write', 'tokens'],
      ['Plants', 'Import', 'Labels', 'Tokens'],
    ],
  ] as const) {
    inBrowser(
      `shows the views that the scopes ${scopes.join(', ')} allow`,
      async ({ page, service }) => {
        const { secret } = await service.issueToken(scopes)
        await page.getByLabel('Access token').fill(secret)
        await page.keyboard.press('Enter')
        await page.getByRole('navigation').waitFor()
        assert.deepEqual(await page.getByRole('navigation').getByRole('link').allTextContents(), shown)
        const mayAdd = scopes.some((scope) => scope === 'plants:write') && scopes.length > 1
        assert.equal(await page.getByRole('button', { name: 'Add a plant' }).count(), mayAdd ? 1 : 0)
        await assertAccessible(page)
      },
      { token: null },
    )
  }

  for (const viewport of [DESKTOP, PHONE]) {
    inBrowser(
      `signs in and out by keyboard alone, at ${viewport.width} pixels`,
      async ({ page, address, context }) => {
        await untilFocused(page, page.getByLabel('Access token'))
        await assertAccessible(page)
        await assertFits(page)
        await page.keyboard.type('wrong')
        await page.keyboard.press('Enter')
        await page.getByText('The service does not know this token').waitFor()
        await untilFocused(page, page.getByLabel('Access token'))
        await page.keyboard.type(SECRET)
        await pressOn(page, page.getByLabel('Remember on this device'), 'Space')
        await pressOn(page, page.getByRole('button', { name: 'Sign in' }))
        await page.getByRole('grid').waitFor()
        await untilFocused(page, page.locator('main'))
        const other = await context.newPage()
        await other.goto(address)
        await other.getByRole('grid').waitFor()
        await pressOn(other, other.getByRole('button', { name: 'Skip to the contents' }))
        await untilFocused(other, other.locator('main'))
        await pressOn(other, other.getByRole('button', { name: 'Sign out' }))
        await untilFocused(other, other.getByLabel('Access token'))
      },
      { token: null, viewport },
    )
  }

  for (const viewport of [DESKTOP, PHONE]) {
    inBrowser(
      `retries with the same token if the service is out of reach, at ${viewport.width} pixels`,
      async ({ page, context }) => {
        await page.clock.install()
        await page.getByLabel('Access token').fill(SECRET)
        await page.getByLabel('Remember on this device').check()
        await context.setOffline(true)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await withoutWaits(page, page.getByText('The service cannot be reached.'))
        await assertAccessible(page)
        await assertFits(page)
        await context.setOffline(false)
        await pressOn(page, page.getByRole('button', { name: 'Try again' }))
        await page.getByRole('grid').waitFor()
        assert.equal(await page.evaluate(`localStorage.getItem('plantstore-token')`), SECRET)
      },
      { token: null, viewport, expected: NO_NETWORK },
    )
  }
})
