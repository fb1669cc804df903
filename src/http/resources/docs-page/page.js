import { readContract } from './contract.js'
import { element, prose } from './elements.js'
import { operationSection } from './operation.js'
import { schemaSections } from './schemas.js'

const STORAGE_KEY = 'plantstore-token'
const token = /** @type {HTMLInputElement} */ (document.getElementById('token'))
const main = /** @type {HTMLElement} */ (document.getElementById('main'))

// sessionStorage belongs to one tab and ends with it.
token.value = sessionStorage.getItem(STORAGE_KEY) ?? ''
token.addEventListener('input', () => sessionStorage.setItem(STORAGE_KEY, token.value))
document.getElementById('access')?.addEventListener('submit', (event) => event.preventDefault())

try {
  const { document: contract, operations } = await readContract()
  const groups = contract.tags.map((group) => ({
    ...group,
    operations: operations.filter((operation) => operation.tags.includes(group.name)),
  }))
  document
    .getElementById('version')
    ?.append(`Version ${contract.info.version}. `, link('/openapi.json', 'openapi.json'))
  document.getElementById('contents')?.append(...groups.map(contents))
  main.replaceChildren(
    ...prose(contract.info.description),
    ...groups.flatMap((group) => [
      element('h2', {}, group.name),
      element('p', {}, group.description ?? ''),
      ...group.operations.map((one) => operationSection(contract, one, () => token.value.trim())),
    ]),
    element('h2', {}, 'objects'),
    ...schemaSections(contract),
  )
  // The browser looked for the target of the hash before the page had it.
  if (location.hash !== '') document.getElementById(location.hash.slice(1))?.scrollIntoView()
} catch (error) {
  main.replaceChildren(element('p', { role: 'alert' }, `The page could not read the contract: ${error}`))
}
main.removeAttribute('aria-busy')

/** @param {{ readonly name: string, readonly operations: readonly import('./contract.js').Operation[] }} group */
function contents({ name, operations }) {
  const items = operations.map((one) =>
    element(
      'li',
      {},
      link(`#${one.operationId}`, element('span', { class: `method ${one.method}` }, one.method), ` ${one.path}`),
    ),
  )
  return element('div', {}, element('h2', {}, name), element('ul', {}, ...items))
}

/**
 * @param {string} href
 * @param {...(Node | string)} children
 */
function link(href, ...children) {
  return element('a', { href }, ...children)
}
