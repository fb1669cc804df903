import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
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

type Run = (opened: Opened) => Promise<void>

interface Opening extends BrowserContextOptions {
  /** The token to sign in with; null opens the page without signing in. */
  readonly token?: string | null
  /** A token that the device remembers. */
  readonly remembers?: string
  /** Messages in the console that the test causes on purpose. */
  readonly expected?: RegExp
  /** What the test begins with; null for nothing. */
  readonly begin?: Run | null
}

interface Common extends Opening {
  /** Makes the settings of the service. */
  readonly settings?: (scene: Scene) => Promise<Bounds>
  /** Makes further arguments of the browser. */
  readonly args?: (scene: Scene) => readonly string[]
}

type Args = readonly [run: Run] | readonly [opening: Opening, run: Run]

/** Each adds a test, as `test` of Node.js does. */
interface PageTests {
  inBrowser(title: string, ...args: Args): void
  /** Runs a test in a window of 360 pixels. */
  onPhone(title: string, ...args: Args): void
}

/**
 * Runs tests of the page at / in one browser and on one service per file, each in its own browser context. A test fails
 * at any other message in the console of the browser.
 *
 * @param common what the openings of all these tests have
 */
export function pageTests({ settings, args, ...common }: Common = {}): PageTests {
  let browser: Browser
  let service: Service
  const closers: (() => Promise<void> | void)[] = []

  before(async () => {
    if (!hasBrowser) return
    const scene = { after: (done: () => Promise<void> | void) => closers.push(done) }
    browser = await withBrowser(scene, args?.(scene))
    service = await withService(scene, await settings?.(scene))
  })
  after(async () => {
    for (const close of closers.toReversed()) await close()
  })

  const add = (title: string, opening: Opening, run: Run): void => {
    test(title, async (t) => {
      if (!hasBrowser) return notTestedHere(t, 'the page at / in a browser')
      await runIn({ browser, service, t }, { ...common, ...opening }, run)
    })
  }
  return {
    inBrowser: (title, ...args) => add(title, ...whole(args)),
    onPhone: (title, ...args) => {
      const [opening, run] = whole(args)
      add(`${title}, at ${PHONE.width} pixels`, { ...opening, viewport: PHONE }, run)
    },
  }
}

const whole = (args: Args): readonly [Opening, Run] => (args.length === 1 ? [{}, args[0]] : args)

async function runIn(
  { browser, service, t }: Pick<Opened, 'service' | 't'> & { readonly browser: Browser },
  { token = SECRET, remembers, expected, begin, ...options }: Opening,
  run: Run,
): Promise<void> {
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
  const opened = { page, context, service, address, t }
  await begin?.(opened)
  await run(opened)
  assert.deepEqual(faults, [])
}

/**
 * Waits until an expression is true in the page. The waiting functions of Playwright evaluate texts inside the page,
 * which its content security policy forbids.
 */
export async function until(page: Page, expression: string): Promise<void> {
  const isTrue = () => page.evaluate<boolean>(`new Promise((done) => requestAnimationFrame(() => done(${expression})))`)
  await untilHolds(isTrue, `${expression} is not true in the page`)
}

/** Hides the tab from its page, or shows it again. */
export const hide = (page: Page, isHidden: boolean): Promise<void> =>
  page.evaluate(`{
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} })
    document.dispatchEvent(new Event('visibilitychange'))
  }`)
