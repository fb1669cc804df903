import { parseExact } from './exact-json.js'

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Reads the contract of the service that serves this page. */
export async function readContract() {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`/openapi.json answers ${response.status}`)
  const document = parseExact(await response.text())
  return { document, operations: operationsOf(document) }
}

/** @param {any} document */
function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({
      method: method.toUpperCase(),
      path,
      ...item[method],
      security: item[method].security ?? document.security ?? [],
      parameters: (item[method].parameters ?? []).map((/** @type {any} */ parameter) => resolved(document, parameter)),
    })),
  )
}

/**
 * Follows a reference into the document. Returns an object without a reference as it is.
 *
 * @param {any} document
 * @param {any} object
 */
export function resolved(document, object) {
  if (object?.$ref === undefined) return object
  const path = object.$ref.slice(2).split('/')
  return path.reduce((/** @type {any} */ at, /** @type {string} */ key) => at[key], document)
}

/**
 * The text of the contract's first example for a body; an empty text without one.
 *
 * @param {any} media
 * @param {(value: any) => string} format
 */
export function exampleText(media, format) {
  const [example] = Object.values(media.examples ?? {})
  if (example === undefined) return ''
  return typeof example.value === 'string' ? example.value : format(example.value)
}
