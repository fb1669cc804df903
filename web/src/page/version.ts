import { signal } from '@preact/signals'
import { isLossy } from './leaving.ts'
import { SERVICE } from './service.ts'

interface PolicyFactory {
  createPolicy(
    name: string,
    rules: { readonly createScriptURL: () => string },
  ): { createScriptURL(input: string): string }
}

declare global {
  interface Window {
    readonly trustedTypes?: PolicyFactory
  }
}

/** Whether the browser keeps the page, which then opens without a network. */
export const isPageKept = signal(false)

const WORKER = `${SERVICE}/page/worker.js`
/** ms between two looks for a moment in which a reload disturbs nobody. */
const PAUSE = 2000
/** ms between two looks for a later version, of a page that nobody hides or loads again. */
const LOOK = 600_000

/**
 * Lets the browser keep the page, so that it opens without a network, and loads a later version soon after the service
 * has one. Browsers keep a page on HTTPS and on the machine itself only.
 */
export function followVersion(): void {
  const workers: ServiceWorkerContainer | undefined = navigator.serviceWorker
  void (workers === undefined ? compare() : register(workers).catch(compare))
}

/** Follows the version where the browser keeps no page. */
async function compare(): Promise<void> {
  const read = async () => {
    const response = await fetch(WORKER, { cache: 'no-cache' }).catch(() => undefined)
    // A network that asks for a sign-in answers by a page.
    const isOwn = response?.ok === true && response.headers.get('Content-Type')?.startsWith('text/javascript') === true
    return isOwn ? response.text() : undefined
  }
  let first = await read()
  let latest = first
  whenUndisturbed(
    () => latest !== first,
    () => location.reload(),
  )
  lookRepeatedly(async () => {
    latest = await read()
    first ??= latest
    latest ??= first
  })
}

async function register(workers: ServiceWorkerContainer): Promise<void> {
  let isKept = workers.controller !== null
  /** Whether a later version is in place, so that this page has to load again. */
  let isOld = false
  workers.addEventListener('controllerchange', () => {
    isOld = isKept
    isKept = true
  })
  // The one script that the content security policy lets the page name at run time.
  const policy = window.trustedTypes?.createPolicy('plantstore-worker', { createScriptURL: () => WORKER })
  const address = policy?.createScriptURL('') ?? WORKER
  await workers.register(address, { scope: `${SERVICE}/`, updateViaCache: 'none' })
  const registration = await workers.ready
  isPageKept.value = true
  const takeOver = () => registration.waiting?.postMessage('take over')
  whenUndisturbed(() => registration.waiting !== null, takeOver)
  whenUndisturbed(
    () => isOld,
    () => location.reload(),
  )
  lookRepeatedly(() => registration.update())
}

function lookRepeatedly(look: () => Promise<unknown>): void {
  const lookIfSeen = () => {
    if (!document.hidden) void look().catch(() => {})
  }
  document.addEventListener('visibilitychange', lookIfSeen)
  setInterval(lookIfSeen, LOOK)
}

/** Does something that a person would notice, once it is due and takes nothing from them. */
function whenUndisturbed(isDue: () => boolean, run: () => void): void {
  setInterval(() => {
    const { activeElement, hidden } = document
    const isTyping = !hidden && activeElement instanceof HTMLInputElement && activeElement.value !== ''
    if (!isDue() || isLossy.value || isTyping || document.querySelector('dialog[open]') !== null) return
    run()
  }, PAUSE)
}
