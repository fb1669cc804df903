/**
 * Does what the translation of Chromium does to a page: puts `<font>` elements in the place of texts, also of those that
 * appear later, and leaves out what says that it is not to be translated.
 *
 * @param word makes the translation of `text`
 */
export const translator = (word: string): string => `(() => {
  const KEPT = 'font, [translate=no], script, style, noscript, textarea, option, svg'
  const translate = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts = []
    while (walker.nextNode()) texts.push(walker.currentNode)
    for (const node of texts) {
      if (node.data.trim() === '' || node.parentElement.closest(KEPT) !== null) continue
      const [outer, inner] = [document.createElement('font'), document.createElement('font')]
      const text = node.data
      inner.textContent = ${word}
      outer.append(inner)
      node.replaceWith(outer)
    }
  }
  let timer
  addEventListener('DOMContentLoaded', () => {
    new MutationObserver(() => {
      clearTimeout(timer)
      timer = setTimeout(translate)
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
  })
})()`
