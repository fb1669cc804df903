import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import axe from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { hasBrowser, withBrowser } from './browser.ts'
import { notTestedHere } from './not-tested.ts'
import { SECRET, type Service, withService } from './service.ts'

/** The two sizes at which people use the page. */
export const DESKTOP = { width: 1280, height: 800 }
export const PHONE = { width: 390, height: 844 }

export interface Opened {
  readonly page: Page
  readonly context: BrowserContext
  readonly service: Service
  readonly address: string
  readonly t: TestContext
}

interface Opening extends BrowserContextOptions {
  /** Signs in with it; null opens the page alone. */
  readonly token?: string | null
  /** What the console may say, as the test wants it to happen. */
  readonly expected?: RegExp
}

/**
 * Runs tests of the page at / in one browser, on one service for the file: each in a browser context of its own. Every
 * other message in the console of the browser is a fault.
 */
export function pageTests(): (title: string, run: (opened: Opened) => Promise<void>, opening?: Opening) => void {
  let browser: Browser
  let service: Service
  const closers: (() => Promise<void> | void)[] = []

  before(async () => {
    if (!hasBrowser) return
    const scene = { after: (done: () => Promise<void> | void) => closers.push(done) }
    browser = await withBrowser(scene)
    service = await withService(scene)
  })
  after(async () => {
    for (const close of closers.toReversed()) await close()
  })

  return (title, run, { token = SECRET, expected, ...options } = {}) => {
    test(title, async (t) => {
      if (!hasBrowser) return notTestedHere(t, 'the page at / in a browser')
      const address = `http://127.0.0.1:${service.port}/`
      const context = await browser.newContext({ viewport: DESKTOP, ...options })
      t.after(() => context.close())
      context.setDefaultTimeout(60_000)
      const faults: string[] = []
      context.on('weberror', (error) => faults.push(error.error().message))
      context.on('console', (message) => {
        const text = message.text()
        // Chromium reports each refusal that fetch receives; the page shows those.
        const isRefusal = text.startsWith('Failed to load resource: the server responded with')
        if (!isRefusal && expected?.test(text) !== true) faults.push(text)
      })
      const page = await context.newPage()
      await page.goto(token === null ? address : `${address}#token=${token}`)
      await page.locator('main:not([aria-busy])').waitFor()
      await run({ page, context, service, address, t })
      assert.deepEqual(faults, [])
    })
  }
}

/** More than any view has places to stop at. */
const MOST_TABS = 100

/** Goes to an element as people without a mouse do, and fails where they do not get there. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let i = 0; i < MOST_TABS; i++) {
    if ((await focusedOf(page, target).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`the key Tab does not lead to ${target}`)
}

/** Goes to an element and presses a key there. */
export async function pressOn(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press(key)
}

/** Waits until the page has given an element the focus. */
export const untilFocused = (page: Page, target: Locator): Promise<void> => focusedOf(page, target).waitFor()

const focusedOf = (page: Page, target: Locator): Locator => target.and(page.locator(':focus'))

/** Fails on what axe finds serious or critical. */
export async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  const found = await page.evaluate<{ id: string; impact: string; nodes: string[] }[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, impact, nodes }) =>
      ({ id, impact, nodes: nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary) })))`,
  )
  assert.deepEqual(
    found.filter(({ impact }) => impact === 'serious' || impact === 'critical'),
    [],
  )
}

/** Fails where the page is wider than the window. */
export async function assertFits(page: Page): Promise<void> {
  const [wide, window] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
  assert.ok(wide <= window, `the page is ${wide} pixels wide in a window of ${window}`)
}

/**
 * Waits until an expression is true in the page. Playwright's own waiting evaluates texts inside of the page, which its
 * policy forbids.
 */
export async function until(page: Page, expression: string): Promise<void> {
  while (!(await page.evaluate<boolean>(`new Promise((done) => requestAnimationFrame(() => done(${expression})))`)));
}
