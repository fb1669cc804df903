import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { DESKTOP, PHONE, until } from './page.ts'

/** The languages of the page. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'nl'] as const

/**
 * An expression: what a person would call unfinished, as texts. Two controls that cover each other, a control that its
 * box or the window cuts, a placeholder that its field cuts, and a control that is wider than a line of text. What lies over the page, such as a panel or a bar that
 * stays in sight, is compared with itself alone; the camera stands inside the box of the search.
 */
export const LOOKS = `(() => {
  const root = document.querySelector('dialog[open]') ?? document.body
  const named = (control) => control.outerHTML.slice(0, 100)
  const styleOf = (element) => getComputedStyle(element)
  const chainOf = (element) =>
    element === null ? [] : element.matches('dialog') ? [element] : [element, ...chainOf(element.parentElement)]
  const liesOver = ({ position, zIndex }) =>
    position === 'fixed' || position === 'sticky' || (position === 'absolute' && zIndex !== 'auto')
  const layerOf = (control) => chainOf(control).find((element) => liesOver(styleOf(element)))
  const controls = [...root.querySelectorAll('a[href], button, input, select, textarea, summary')]
    .filter((control) => control.checkVisibility() && control.closest('.skip, .hidden') === null)
    .map((control) => control.matches('label input') ? control.closest('label') : control)
  const parts = controls.flatMap((control) => {
    const layer = layerOf(control)
    const clips = chainOf(control.parentElement).filter((box) => styleOf(box).overflowY !== 'visible' && box !== document.body)
    return [...control.getClientRects()].map(({ left, right, top, bottom }) => {
      const shown = clips.map((box) => box.getBoundingClientRect())
      return {
        control, layer, left, right,
        top: Math.max(top, ...shown.map((box) => box.top)),
        bottom: Math.min(bottom, ...shown.map((box) => box.bottom)),
      }
    })
  })
  const covers = parts.flatMap((one, i) => parts.slice(i + 1).flatMap((other) => {
    if (one.layer !== other.layer || one.control.contains(other.control) || other.control.contains(one.control)) return []
    const box = one.control.closest('.search-box')
    if (box !== null && box === other.control.closest('.search-box')) return []
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left)
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top)
    return wide > 0.5 && high > 0.5 ? [named(one.control) + ' covers ' + wide + ' pixels of ' + named(other.control)] : []
  }))
  const cut = controls.flatMap((control) => {
    const { left, right } = control.getBoundingClientRect()
    const clips = chainOf(control.parentElement).filter((box) => styleOf(box).overflowX !== 'visible')
    const boxes = [{ left: 0, right: innerWidth }, ...clips.map((box) => box.getBoundingClientRect())]
    return boxes.some((box) => left < box.left - 0.5 || right > box.right + 0.5) ? [named(control) + ' is cut'] : []
  })
  const pen = document.createElement('canvas').getContext('2d')
  const short = [...root.querySelectorAll('input[placeholder]')].flatMap((field) => {
    const { font, paddingLeft, paddingRight } = styleOf(field)
    pen.font = font
    const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
    return field.checkVisibility() && pen.measureText(field.placeholder).width > room + 0.5
      ? ['"' + field.placeholder + '" is cut']
      : []
  })
  const stretched = controls
    .filter((control) => !control.matches('label') && control.getBoundingClientRect().width > 720)
    .map((control) => named(control) + ' is wider than a line of text')
  return [...covers, ...cut, ...short, ...stretched]
})()`

/** Fails if anything of the view looks unfinished in a language of the page at 360 or 1280 pixels. */
export async function assertLooks(page: Page, what: string, check: (where: string) => Promise<void>): Promise<void> {
  for (const size of [DESKTOP, PHONE]) {
    await page.setViewportSize(size)
    for (const language of LANGUAGES) {
      await speak(page, language)
      const where = `${what}, ${language}, ${size.width} pixels`
      assert.deepEqual(await page.evaluate<readonly string[]>(LOOKS), [], where)
      await check(where)
    }
  }
}

/** An expression that chooses a language in the menu, where a dialog covers the menu too. */
export const speaking = (language: string): string => `(() => {
  const menu = document.querySelector('.language select')
  menu.value = '${language}'
  menu.dispatchEvent(new Event('change'))
})()`

/** Changes the language, and leaves dialogs, panels and the focus as they are. */
async function speak(page: Page, language: string): Promise<void> {
  await page.evaluate(speaking(language))
  await until(page, `document.documentElement.lang === '${language}'`)
}
