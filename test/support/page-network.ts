import type { Locator, Page, Request, Route } from 'playwright-core'
import { settled, until as untilHolds } from './until.ts'

/** Chromium's message for a request without an answer. */
export const NO_NETWORK = /net::ERR_/

/** Milliseconds in which an answer comes, on a busy machine too, if one comes. */
const ANSWERED = 2000

/** Waits for an element that appears after the last attempt of a request. Needs a page whose clock the test moves. */
export async function withoutWaits(page: Page, wanted: Locator): Promise<void> {
  const asked = new Map<Request, number>()
  const ask = (request: Request): void => void asked.set(request, performance.now())
  const end = (request: Request): void => void asked.delete(request)
  page.on('request', ask).on('requestfinished', end).on('requestfailed', end)
  const isThere = async () => {
    const found = (await wanted.count()) > 0
    // The page ends a request after 7 s or 15 s, and would take the service for lost where its answer is on the way.
    const isAnswering = [...asked.values()].some((at) => performance.now() - at < ANSWERED)
    if (!found && !isAnswering) await page.clock.fastForward(3000)
    return found
  }
  await untilHolds(isThere, `${wanted} does not come`)
  page.off('request', ask).off('requestfinished', end).off('requestfailed', end)
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
  const handleOpen = async (route: Route): Promise<void> => {
    try {
      await handle(route)
    } catch (error) {
      // The test may end, and close its page, while requests are under way.
      if (!page.isClosed()) throw error
    }
  }
  await page.route(url, handleOpen)
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
  return () => page.unroute(url, handleOpen)
}

/** The addresses that a page asks for from now on. */
export function askedBy(page: Page): readonly string[] {
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  return asked
}

/** The changes that a page sends from now on, each as its method and path. */
export function changesOf(page: Page): readonly string[] {
  const sent: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (!['GET', 'HEAD'].includes(request.method())) sent.push(`${request.method()} ${pathname}`)
  })
  return sent
}

/** Lets held requests go on. */
type Release = (() => void) & {
  /** Waits until a request is held. */
  readonly untilHeld: () => Promise<void>
}

/** Holds requests of this method. @returns a function that releases them */
export async function holdAnswers(page: Page, url: string | RegExp, method = 'GET'): Promise<Release> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await intercept(page, url, async (route) => {
    if (route.request().method() !== method) return route.continue()
    held.resolve()
    await released.promise
    // The page may have aborted this request.
    await route.continue().catch(() => {})
  })
  return Object.assign(released.resolve, { untilHeld: () => settled(held.promise, `the page does not ask for ${url}`) })
}
