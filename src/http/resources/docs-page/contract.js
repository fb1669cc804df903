import { parseExact } from './exact-json.js'

/**
 * What this page reads of the contract, an OpenAPI 3.1 document; it comes from the service that serves the page.
 *
 * @typedef {import('./exact-json.js').JsonValue} JsonValue
 * @typedef {{ readonly $ref: string }} Reference
 *
 * @typedef {object} Schema
 * @property {string | readonly string[]} [type]
 * @property {string} [format]
 * @property {string} [description]
 * @property {readonly string[]} [enum]
 * @property {readonly string[]} [required]
 * @property {{ readonly type?: string, readonly $ref?: string }} [items]
 * @property {Readonly<Record<string, Schema | Reference>>} [properties]
 *
 * @typedef {object} Parameter
 * @property {string} name
 * @property {'path' | 'query' | 'header'} in
 * @property {string} [description]
 * @property {boolean} [required]
 * @property {JsonValue} [example]
 * @property {Schema | Reference} schema
 *
 * @typedef {{ readonly examples?: Readonly<Record<string, { readonly value: JsonValue }>> }} Media
 *
 * @typedef {object} RequestBody
 * @property {Readonly<Record<string, Media>>} content
 * @property {string} [description]
 * @property {boolean} [x-streamed]
 *
 * @typedef {object} Answer
 * @property {string} description
 * @property {Readonly<Record<string, Media>>} [content]
 * @property {readonly JsonValue[]} [x-errors]
 *
 * @typedef {Readonly<Record<string, Answer | Reference>>} Answers
 * @typedef {readonly Readonly<Record<string, readonly string[]>>[]} Security
 *
 * @typedef {object} PathOperation
 * @property {string} operationId
 * @property {readonly string[]} tags
 * @property {string} summary
 * @property {string} [description]
 * @property {Security} [security]
 * @property {readonly (Parameter | Reference)[]} [parameters]
 * @property {RequestBody} [requestBody]
 * @property {Answers} responses
 *
 * @typedef {object} Components
 * @property {Readonly<Record<string, Schema>>} schemas
 * @property {Readonly<Record<string, Parameter>>} parameters
 * @property {Readonly<Record<string, Answer>>} responses
 *
 * @typedef {object} Contract
 * @property {{ readonly version: string, readonly description: string }} info
 * @property {readonly { readonly name: string, readonly description?: string }[]} tags
 * @property {Security} [security]
 * @property {Readonly<Record<string, Readonly<Record<string, PathOperation>>>>} paths
 * @property {Components} components
 *
 * @typedef {Omit<PathOperation, 'parameters' | 'security'> & {
 *   readonly method: string,
 *   readonly path: string,
 *   readonly security: Security,
 *   readonly parameters: readonly Parameter[],
 * }} Operation
 */

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Reads the contract of the service that serves this page. */
export async function readContract() {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`/openapi.json answers ${response.status}`)
  const document = /** @type {Contract} */ (parseExact(await response.text()))
  return { document, operations: operationsOf(document) }
}

/**
 * @param {Contract} document
 * @returns {Operation[]}
 */
function operationsOf({ paths, security = [], components }) {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      if (operation === undefined) return []
      const parameters = (operation.parameters ?? []).map((one) => resolved(components.parameters, one))
      return [{ security, ...operation, method: method.toUpperCase(), path, parameters }]
    }),
  )
}

/**
 * Follows a reference into its part of the document, if it is one.
 *
 * @template {object} Part
 * @param {Readonly<Record<string, Part>>} parts
 * @param {Part | Reference} object
 * @returns {Part}
 */
export function resolved(parts, object) {
  if (!('$ref' in object)) return object
  const name = String(object.$ref).split('/').at(-1) ?? ''
  const found = parts[name]
  if (found === undefined) throw new Error(`the contract has no ${name}`)
  return found
}

/**
 * The text of the contract's first example for a body; an empty text without one.
 *
 * @param {Media | undefined} media
 * @param {(value: JsonValue) => string} format
 */
export function exampleText(media, format) {
  const [example] = Object.values(media?.examples ?? {})
  if (example === undefined) return ''
  return typeof example.value === 'string' ? example.value : format(example.value)
}
