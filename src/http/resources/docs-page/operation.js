import { exampleText, resolved } from './contract.js'
import { element, inline, prose } from './elements.js'
import { formatExact } from './exact-json.js'
import { curlOf, requestOf, send } from './request.js'

/**
 * @typedef {import('./contract.js').Contract} Contract
 * @typedef {import('./contract.js').Operation} Operation
 * @typedef {import('./contract.js').Parameter} Parameter
 */

/**
 * Makes the section of an operation: its description, a form with the examples of the contract, and the last answer.
 *
 * @param {Contract} document
 * @param {Operation} operation
 * @param {() => string} token
 */
export function operationSection(document, operation, token) {
  const { operationId: id, method, path, summary, description, parameters, requestBody, responses } = operation
  const answer = element('div', { class: 'answer', role: 'status', 'aria-label': `Answer of ${id}` })
  const form = element(
    'form',
    { 'aria-label': `Request of ${id}` },
    ...parameters.map((parameter) => parameterField(document, id, parameter)),
    ...(requestBody === undefined ? [] : bodyFields(id, requestBody)),
    ...acceptField(id, document, responses),
    element('button', { type: 'submit' }, 'Send'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void show(answer, requestOf(operation, form, token()))
  })
  const scopes = operation.security.flatMap((requirement) => Object.values(requirement).flat())
  const needs =
    operation.security.length === 0 ? 'Needs no token.' : `Needs a token with the scope ${scopes.join(', ')}.`
  return element(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    element('h3', { id: `${id}-title` }, element('span', { class: `method ${method}` }, method), ` ${path}`),
    element('p', { class: 'summary' }, summary),
    ...prose(description),
    element('p', { class: 'note' }, needs),
    form,
    answer,
    answersOf(document, responses),
  )
}

/**
 * @param {Contract} document
 * @param {string} id
 * @param {Parameter} parameter
 */
function parameterField(document, id, parameter) {
  const { name, in: place, description, required = false, example } = parameter
  const schema = resolved(document.components.schemas, parameter.schema)
  const controlId = `${id}-${place}-${name}`
  const attributes = { id: controlId, name: `${place}:${name}`, required, 'aria-describedby': `${controlId}-note` }
  const note = element('span', { class: 'note', id: `${controlId}-note` }, ...inline(description ?? ''))
  const value = String(example ?? '')
  const label = element('label', { for: controlId }, name, element('span', { class: 'place' }, ` ${place}`))
  return element('div', { class: 'field' }, label, control(schema, attributes, value), note)
}

/**
 * @param {import('./contract.js').Schema} schema
 * @param {Record<string, string | boolean>} attributes
 * @param {string} value
 */
function control(schema, attributes, value) {
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum
  if (choices !== undefined) {
    const options = choices.map((choice) => element('option', { selected: choice === value }, choice))
    return element('select', attributes, element('option', { value: '' }, ''), ...options)
  }
  if (schema.type === 'array')
    return element('textarea', { ...attributes, rows: '2', placeholder: 'one per line' }, value)
  return element('input', { ...attributes, value, autocomplete: 'off', spellcheck: 'false' })
}

/**
 * @param {string} id
 * @param {import('./contract.js').RequestBody} requestBody
 */
function bodyFields(id, { content, description, 'x-streamed': isStreamed = false }) {
  const types = Object.keys(content)
  const text = element('textarea', { id: `${id}-body`, name: 'body', rows: '6', spellcheck: 'false' })
  const type = element(
    'select',
    { id: `${id}-type`, name: 'Content-Type' },
    ...types.map((one) => element('option', {}, one)),
  )
  const fill = () => {
    text.value = exampleText(content[type.value], formatExact)
  }
  type.addEventListener('change', fill)
  fill()
  const fields = [
    labelled(type, 'Content-Type'),
    labelled(text, 'Body'),
    element('div', { class: 'note' }, ...prose(description)),
  ]
  if (!isStreamed) return fields
  return [
    ...fields,
    labelled(element('input', { id: `${id}-file`, name: 'file', type: 'file' }), 'File instead of the body'),
  ]
}

/**
 * @param {string} id
 * @param {Contract} document
 * @param {Operation['responses']} responses
 */
function acceptField(id, document, responses) {
  const answer = responses['200']
  const types = Object.keys((answer && resolved(document.components.responses, answer).content) ?? {})
  if (types.length < 2) return []
  const options = ['*/*', ...types].map((type) => element('option', {}, type))
  return [labelled(element('select', { id: `${id}-accept`, name: 'Accept' }, ...options), 'Accept')]
}

/**
 * @param {HTMLElement} field
 * @param {string} text
 */
const labelled = (field, text) => element('div', { class: 'field' }, element('label', { for: field.id }, text), field)

/**
 * @param {HTMLElement} place
 * @param {ReturnType<typeof requestOf>} request
 */
async function show(place, request) {
  place.setAttribute('aria-busy', 'true')
  /** @type {HTMLElement[]} */
  const shown = [element('pre', { class: 'sent', tabindex: '0', 'aria-label': 'Command' }, curlOf(request))]
  try {
    const { status, headers, text, isWhole } = await send(request)
    const fields = headers.map(([name, value]) => `${name}: ${value}`).join('\n')
    shown.push(element('p', { class: 'status' }, status))
    shown.push(element('pre', { class: 'headers', tabindex: '0', 'aria-label': 'Headers' }, fields))
    shown.push(element('pre', { class: 'body', tabindex: '0', 'aria-label': 'Body' }, text))
    if (!isWhole)
      shown.push(
        element(
          'p',
          { class: 'note' },
          'The page shows only the beginning of this body. Use the command to get all of it.',
        ),
      )
  } catch (error) {
    shown.push(element('p', { class: 'status' }, `No answer: ${error instanceof Error ? error.message : error}`))
  }
  place.replaceChildren(...shown)
  place.removeAttribute('aria-busy')
}

/**
 * @param {Contract} document
 * @param {Operation['responses']} responses
 */
function answersOf(document, responses) {
  const rows = Object.entries(responses).map(([status, response]) => {
    const { description, 'x-errors': numbers = [] } = resolved(document.components.responses, response)
    const errors = numbers.length === 0 ? [] : [element('span', { class: 'numbers' }, ` ${numbers.join(', ')}`)]
    return element('div', {}, element('dt', {}, status), element('dd', {}, ...inline(description.trim()), ...errors))
  })
  return element('details', {}, element('summary', {}, 'Answers'), element('dl', {}, ...rows))
}
