import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { until as untilHolds } from './until.ts'

/** Opens a link with a token in a page that is signed in, and accepts the new session. */
export async function signOver(page: Page, address: string, secret: string): Promise<void> {
  await page.goto(`${address}#token=${secret}`)
  await page.getByRole('button', { name: 'Sign in with the link' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.locator('main:not([aria-busy])').waitFor()
}

/** Signs in by the form. */
export async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel('Access token').fill(secret)
  await page.keyboard.press('Enter')
}

/** Types the code of a label, as a hand scanner does. */
export async function typeLabel(page: Page, code: string | number): Promise<void> {
  await page.getByLabel('Id of a label').fill(String(code))
  await page.keyboard.press('Enter')
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
