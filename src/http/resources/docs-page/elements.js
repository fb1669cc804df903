/**
 * Makes an element. Texts become text nodes, so the browser never reads an answer of the service as HTML.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | boolean>} attributes `false` leaves an attribute out
 * @param {...(Node | string)} children
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(key, value === true ? '' : value)
  }
  made.append(...children)
  return made
}

const CODE = /`([^`]+)`/

/**
 * Makes the paragraphs of a description in the contract. Backticks in it enclose code.
 *
 * @param {string | undefined} text
 */
export function prose(text = '') {
  return text
    .trim()
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => element('p', {}, ...inline(paragraph)))
}

/**
 * Makes the code and the plain texts of one paragraph.
 *
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function inline(text) {
  return text.split(CODE).map((part, i) => (i % 2 === 1 ? element('code', {}, part) : part))
}
