import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Route } from 'playwright-core'
import { hasBrowser, withBrowser } from './browser.ts'
import type { Scene } from './clean-up.ts'
import { notTestedHere } from './not-tested.ts'
import { type Bounds, SECRET, type Service, withService } from './service.ts'
import { PATIENCE, until as untilHolds } from './until.ts'

/** The two sizes of the window in which the tests use the page. */
export const DESKTOP = { width: 1280, height: 800 }
export const PHONE = { width: 360, height: 740 }

export interface Opened {
  readonly page: Page
  readonly context: BrowserContext
  readonly service: Service
  readonly address: string
  readonly t: TestContext
}

interface Opening extends BrowserContextOptions {
  /** The token to sign in with; null opens the page without signing in. */
  readonly token?: string | null
  /** A token that the device remembers. */
  readonly remembers?: string
  /** Messages in the console that the test causes on purpose. */
  readonly expected?: RegExp
}

/**
 * Runs tests of the page at / in one browser and on one service per file, each in its own browser context. A test fails
 * at any other message in the console of the browser.
 *
 * @param settings makes the settings of the service
 * @param args makes further arguments of the browser
 */
export function pageTests(
  settings: (scene: Scene) => Promise<Bounds> = async () => ({}),
  args: (scene: Scene) => readonly string[] = () => [],
): (title: string, run: (opened: Opened) => Promise<void>, opening?: Opening) => void {
  let browser: Browser
  let service: Service
  const closers: (() => Promise<void> | void)[] = []

  before(async () => {
    if (!hasBrowser) return
    const scene = { after: (done: () => Promise<void> | void) => closers.push(done) }
    browser = await withBrowser(scene, args(scene))
    service = await withService(scene, await settings(scene))
  })
  after(async () => {
    for (const close of closers.toReversed()) await close()
  })

  return (title, run, { token = SECRET, remembers, expected, ...options } = {}) => {
    test(title, async (t) => {
      if (!hasBrowser) return notTestedHere(t, 'the page at / in a browser')
      const origin = `http://127.0.0.1:${service.port}`
      const address = `${origin}/`
      const localStorage = remembers === undefined ? [] : [{ name: 'plantstore-token', value: remembers }]
      const storageState = { cookies: [], origins: [{ origin, localStorage }] }
      // Colours and places do not change while a test looks at them.
      const context = await browser.newContext({
        viewport: DESKTOP,
        storageState,
        reducedMotion: 'reduce',
        // A page that comes from the device sends no request that a test could hold. Few tests are about that.
        serviceWorkers: 'block',
        ...options,
      })
      t.after(() => context.close())
      context.setDefaultTimeout(PATIENCE)
      const faults: string[] = []
      context.on('weberror', (error) => faults.push(error.error().message))
      context.on('console', (message) => {
        const text = message.text()
        // Chromium reports each refusal that fetch receives. The page shows these refusals itself.
        const isRefusal = text.startsWith('Failed to load resource: the server responded with')
        const isBlocked = text.startsWith('Service Worker registration blocked')
        if (!isRefusal && !isBlocked && expected?.test(text) !== true) faults.push(text)
      })
      const page = await context.newPage()
      await page.goto(token === null ? address : `${address}#token=${token}`)
      await page.locator('main:not([aria-busy])').waitFor()
      await run({ page, context, service, address, t })
      assert.deepEqual(faults, [])
    })
  }
}

/** Opens a link with a token in a page that is signed in, and accepts the new session. */
export async function signOver(page: Page, address: string, secret: string): Promise<void> {
  await page.goto(`${address}#token=${secret}`)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.locator('main:not([aria-busy])').waitFor()
}

/** Chromium's message for a request without an answer. */
export const NO_NETWORK = /net::ERR_/

/** Waits for an element that appears after the last attempt of a request. Needs a page whose clock the test moves. */
export async function withoutWaits(page: Page, wanted: Locator): Promise<void> {
  const isThere = async () => {
    const found = (await wanted.count()) > 0
    if (!found) {
      // The page ends a request after 7 s or 15 s. Without round trips between the jumps, these would end one that a busy
      // machine has had no time to answer, and the page would take the service for lost.
      await page.evaluate(`fetch('/health/live', { signal: AbortSignal.timeout(2000) }).then(() => {}, () => {})`)
      await page.clock.fastForward(3000)
    }
    return found
  }
  await untilHolds(isThere, `${wanted} does not come`)
}

/**
 * Handles requests of a page, once Chromium really hands them over: the first ones after its "enabled" may still pass by.
 *
 * @returns ends that
 */
export async function intercept(
  page: Page,
  url: string | RegExp,
  handle: (route: Route) => Promise<void>,
): Promise<() => Promise<void>> {
  await page.route(url, handle)
  let isIntercepted = false
  const probe = '/is-intercepted'
  await page.route(`**${probe}`, (route) => {
    isIntercepted = true
    return route.fulfill()
  })
  await untilHolds(async () => {
    await page.evaluate(`fetch('${probe}').then(() => {})`)
    return isIntercepted
  }, 'the browser hands over no request')
  await page.unroute(`**${probe}`)
  return () => page.unroute(url, handle)
}

/**
 * Lets requests reach the service, and drops their answers.
 *
 * @returns ends that, after the effects of all these requests
 */
export async function loseAnswers(page: Page, url: string | RegExp): Promise<() => Promise<void>> {
  const lost: Promise<unknown>[] = []
  const end = await intercept(page, url, async (route) => {
    const answer = route.fetch()
    lost.push(answer)
    await answer
    await route.abort('connectionreset')
  })
  return async () => {
    await end()
    await Promise.all(lost)
  }
}

/** Holds requests of this method. @returns a function that releases them */
export async function holdAnswers(page: Page, url: string | RegExp, method: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  await intercept(page, url, async (route) => {
    if (route.request().method() === method) await promise
    await route.continue()
  })
  return resolve
}

/** More than any view has tab stops. */
const MOST_TABS = 100

/** Presses Tab until an element has the focus. Fails if that does not happen, or if the focus is not visible. */
export async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await target.waitFor()
  for (let i = 0; i < MOST_TABS; i++) {
    if ((await focusedOf(page, target).count()) > 0 && (await isFocusSeen(page, target))) return
    await page.keyboard.press(key)
  }
  assert.fail(`the key ${key} does not lead to ${target}`)
}

/** Tabs to an element and presses a key there. */
export async function pressOn(page: Page, target: Locator, key = 'Enter', way?: 'Tab' | 'Shift+Tab'): Promise<void> {
  await tabTo(page, target, way)
  await page.keyboard.press(key)
}

/** Presses an action by keyboard, in its bar or, where it has no place there, in the menu of further ones. */
export async function pressAction(page: Page, name: string, way?: 'Tab' | 'Shift+Tab'): Promise<void> {
  const action = page.getByRole('button', { name, exact: true })
  if (await action.isVisible()) return pressOn(page, action, 'Enter', way)
  await pressOn(page, page.getByLabel('More actions'), 'Enter', way)
  await pressOn(page, action)
}

/** Unfolds the tools of the list by keyboard. A wide window always shows them. */
export async function openTools(page: Page): Promise<void> {
  await page.locator('#tools').waitFor({ state: 'attached' })
  const tools = page.getByRole('button', { name: 'Tools' })
  if (await tools.isVisible()) await pressOn(page, tools)
}

/** Undoes what the last notice tells, and says yes to what that would do. @param plants such as `3 plants` */
export async function undoFromNotice(page: Page, plants: string): Promise<void> {
  await pressOn(page, page.locator('.notice').getByRole('button', { name: 'Undo' }))
  await pressOn(page, page.getByRole('dialog').getByRole('button', { name: `Undo for ${plants}` }))
}

/** Opens the menu with the language and the way out by keyboard. @param way of the tabs to it */
export async function openMenu(page: Page, way?: 'Tab' | 'Shift+Tab'): Promise<void> {
  await page.locator('.account').waitFor()
  if (await page.locator('.account').evaluate((menu) => !menu.hasAttribute('open')))
    await pressOn(page, page.locator('.account > summary'), 'Enter', way)
}

/** Opens a view by keyboard. A narrow window has some of them in its menu. */
export async function openView(page: Page, name: string): Promise<void> {
  await page.locator('.account').waitFor()
  const link = page.getByRole('navigation').getByRole('link', { name, exact: true })
  if (!(await link.isVisible())) await openMenu(page)
  await pressOn(page, link)
}

/** Signs out, where the person would lose nothing by that, or is asked first. */
export async function signOut(page: Page): Promise<void> {
  await openMenu(page)
  await pressOn(page, page.getByRole('button', { name: 'Sign out', exact: true }))
}

/**
 * Waits until the focused element has a ring and nothing covers it: a browser scrolls to it in a later frame.
 *
 * @returns false if the page has taken the element away meanwhile, such as a row of the search before
 */
async function isFocusSeen(page: Page, target: Locator): Promise<boolean> {
  let fault = ''
  let isFocused = true
  const isSeen = async (): Promise<boolean> => {
    fault = await focusFault(page)
    isFocused = (await focusedOf(page, target).count()) > 0
    return fault === '' || !isFocused
  }
  await untilHolds(isSeen, () => fault)
  return isFocused
}

/** Says why the focus can't be seen; empty when it can. */
async function focusFault(page: Page): Promise<string> {
  const [outline, over] = await page.evaluate<[string, string | null]>(`(() => {
    const focused = document.activeElement
    const { left, right, top, bottom } = focused.getBoundingClientRect()
    const x = (Math.max(0, left) + Math.min(innerWidth, right)) / 2
    const y = (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2
    const seen = document.elementFromPoint(x, y)
    const isSeen = seen !== null && (focused.contains(seen) || seen.contains(focused))
    return [getComputedStyle(focused).outlineStyle, isSeen ? null : String(seen?.outerHTML.slice(0, 200))]
  })()`)
  if (outline === 'none') return 'the focus has no ring'
  return over === null ? '' : `this lies over the focus: ${over}`
}

/** Waits until the page has given an element the focus. */
export const untilFocused = (page: Page, target: Locator): Promise<void> => focusedOf(page, target).waitFor()

const focusedOf = (page: Page, target: Locator): Locator => target.and(page.locator(':focus'))

/**
 * Fails if a view is not accessible, or wider than its window at 360 or at 1280 pixels. Keeps the window as it is. That
 * the other size is accessible too is the matter of the tour, `test/page/languages.test.ts`.
 */
export async function assertAtBothSizes(page: Page): Promise<void> {
  const isPhone = page.viewportSize()?.width === PHONE.width
  for (const size of isPhone ? [DESKTOP, PHONE] : [PHONE, DESKTOP]) {
    await page.setViewportSize(size)
    await assertFits(page)
  }
  await assertAccessible(page)
}

/** The rules that axe runs in each colour scheme: only one depends on the colours. */
const COLOURS = [
  ['light', {}],
  ['dark', { runOnly: ['color-contrast'] }],
] as const

/** Fails if axe finds anything at all, in light or in dark colours. */
export async function assertFaultless(page: Page, what: string): Promise<void> {
  for (const [colorScheme, rules] of COLOURS) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await faultsIn(page, rules), [], `${what}, ${colorScheme}`)
  }
  await page.emulateMedia({ colorScheme: null })
}

/** Fails if axe finds a serious or critical fault, or contents in no landmark, in light or in dark colours. */
export async function assertAccessible(page: Page): Promise<void> {
  for (const [colorScheme, rules] of COLOURS) {
    await page.emulateMedia({ colorScheme })
    const found = await faultsIn(page, rules)
    const faults = found.filter(({ id, impact }) => id === 'region' || impact === 'serious' || impact === 'critical')
    assert.deepEqual(faults, [], colorScheme)
  }
  await page.emulateMedia({ colorScheme: null })
}

/** Half the size of the readable script, which each page reads anew. */
const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** What axe looks at: of a table, the first rows and those that a person edits, because the others are like them. */
const LOOKED_AT = `{ exclude: [['[role=row]:nth-child(n + 12):not(.editing)']] }`

/** What axe finds by some rules; {}: by all. */
async function faultsIn(
  page: Page,
  rules: { readonly runOnly?: readonly string[] },
): Promise<readonly { readonly id: string; readonly impact: string }[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE)
  // A third of the time goes into selectors, and into what is right.
  const options = { ...rules, resultTypes: ['violations'], selectors: false }
  return page.evaluate(
    `axe.run(${LOOKED_AT}, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, impact, nodes }) =>
      ({ id, impact, nodes: nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary) })))`,
  )
}

/** Fails if the page or an open panel stays too wide: after a change of the window, some parts follow in the next frames. */
export async function assertFits(page: Page): Promise<void> {
  let found: readonly number[] | null = null
  const fits = async () => {
    found = await page.evaluate<[number, number] | null>(`
      [[document.documentElement.scrollWidth, innerWidth],
        ...[...document.querySelectorAll('.panel')].filter((panel) => panel.checkVisibility())
          .map(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])]
        .find(([wide, room]) => wide > room) ?? null`)
    return found === null
  }
  await untilHolds(fits, () => `the page or a panel is ${found?.join(' pixels wide in room for ')}`)
}

/** The least height and width of what a finger hits, in CSS pixels. */
const FINGER = 44

/** Fails if a control is too small for a finger. Links within a sentence are as high as its line. */
export async function assertForFingers(page: Page): Promise<void> {
  assert.ok(await page.evaluate<boolean>(`matchMedia('(pointer: coarse)').matches`), 'the context has no touch screen')
  const small = await page.evaluate<readonly string[]>(`
    [...document.querySelectorAll('a, button, input, select, textarea, summary')]
      .filter((control) => control.checkVisibility() && getComputedStyle(control).display !== 'inline')
      .map((control) => [control, (control.closest('label') ?? control).getBoundingClientRect()])
      .filter(([, { width, height }]) => Math.min(width, height) < ${FINGER - 0.5})
      .map(([control, { width, height }]) => control.outerHTML.slice(0, 120) + ' ' + width + ' x ' + height)`)
  assert.deepEqual(small, [])
}

/**
 * Waits until an expression is true in the page. The waiting functions of Playwright evaluate texts inside the page,
 * which its content security policy forbids.
 */
export async function until(page: Page, expression: string): Promise<void> {
  const isTrue = () => page.evaluate<boolean>(`new Promise((done) => requestAnimationFrame(() => done(${expression})))`)
  await untilHolds(isTrue, `${expression} is not true in the page`)
}
