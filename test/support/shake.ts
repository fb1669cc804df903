// A slow line and a slow machine, on which races of the page and of its tests show.
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'

/** Milliseconds by which an answer is late at most. */
const MOST = 400
/** Milliseconds in which further pieces of an answer follow the first one at once. */
const PIECES = 500

/** Delays what a service answers to a page, and not to the requests of tests. PLANTSTORE_TEST_SHAKE has the seed. */
export function shakeAnswers(server: Server): void {
  const seed = process.env['PLANTSTORE_TEST_SHAKE']
  if (seed === undefined) return
  const random = randomOf(Number(seed))
  server.prependListener('request', (request, response) => {
    // Only browsers send it.
    if ((request.headers['sec-fetch-dest'] ?? 'document') === 'document') return
    let last = Promise.resolve()
    let late = 0
    const later = (act: () => void): void => {
      const now = performance.now()
      const pause = now < late ? 0 : random() * MOST
      late = now + pause + PIECES
      last = last.then(() => sleep(pause)).then(act)
    }
    const write = response.write.bind(response)
    const end = response.end.bind(response)
    response.write = (...args: unknown[]) => {
      later(() => Reflect.apply(write, response, args))
      return true
    }
    response.end = (...args: unknown[]) => {
      later(() => Reflect.apply(end, response, args))
      return response
    }
  })
}

/** Slows the pages of a browser down, by the factor in PLANTSTORE_TEST_THROTTLE. */
export function throttle(browser: Browser): void {
  const rate = Number(process.env['PLANTSTORE_TEST_THROTTLE'] ?? 1)
  const slowDown = (page: Page): void => {
    const session = page.context().newCDPSession(page)
    // A page may be closed by then.
    session.then((opened) => opened.send('Emulation.setCPUThrottlingRate', { rate })).catch(() => {})
  }
  if (rate !== 1) browser.on('context', (context) => context.on('page', slowDown))
}

/** Numbers from 0 to 1 (MINSTD, Park and Miller 1988). */
function randomOf(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
