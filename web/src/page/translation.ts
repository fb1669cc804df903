import { options } from 'preact'

/** What stands in the place of a text that the browser has translated. */
const replacements = new WeakMap<Text, Element>()
let isRendering = false

/**
 * Keeps the page current under the translation of a browser. Chromium puts `<font>` elements in the place of texts, and
 * Preact goes on changing and removing the texts, which nobody sees any more (preactjs/preact#948): "1 plant selected"
 * stays where three are. A text that changes takes its place back, and the browser translates the new one.
 */
export function surviveTranslation(): void {
  options.debounceRendering = (render) =>
    queueMicrotask(() => {
      isRendering = true
      try {
        render()
      } finally {
        isRendering = false
      }
    })
  const changes = new MutationObserver((records) => {
    for (const { target } of records) if (target instanceof Text) putBack(target)
  })
  new MutationObserver((records) => {
    const fonts = new Set(records.flatMap(({ addedNodes }) => [...addedNodes].filter(isFont)))
    if (fonts.size === 0) return
    for (const record of records) {
      for (const text of record.removedNodes) {
        if (!(text instanceof Text) || text.parentNode !== null) continue
        const beside = [...record.addedNodes, record.previousSibling, record.nextSibling]
        const font = beside.find((node): node is HTMLElement => isFont(node) && fonts.delete(node))
        if (font === undefined) continue
        standIn(text, font)
        changes.observe(text, { characterData: true })
      }
    }
  }).observe(document.body, { childList: true, subtree: true })
}

const isFont = (node: Node | null): node is HTMLElement => node instanceof HTMLElement && node.localName === 'font'

/**
 * Gives a text the neighbours of its replacement while Preact renders, and its place once Preact asks for its parent,
 * which it does before it removes a node or puts another one before it.
 */
function standIn(text: Text, font: Element): void {
  replacements.set(text, font)
  Object.defineProperties(text, {
    parentNode: {
      configurable: true,
      get() {
        if (!isRendering) return null
        putBack(text)
        return text.parentNode
      },
    },
    nextSibling: { configurable: true, get: () => (isRendering ? font.nextSibling : null) },
  })
}

function putBack(text: Text): void {
  const font = replacements.get(text)
  if (font === undefined) return
  replacements.delete(text)
  Reflect.deleteProperty(text, 'parentNode')
  Reflect.deleteProperty(text, 'nextSibling')
  // The browser may have put the text back itself.
  if (font.parentNode !== null && text.parentNode === null) font.replaceWith(text)
}
