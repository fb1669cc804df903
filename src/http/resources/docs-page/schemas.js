import { resolved } from './contract.js'
import { element, inline } from './elements.js'

/**
 * @typedef {import('./contract.js').Contract} Contract
 * @typedef {import('./contract.js').Schema} Schema
 */

/**
 * Makes a section with a table for each object of the contract.
 *
 * @param {Contract} document
 */
export function schemaSections(document) {
  const objects = Object.entries(document.components.schemas).filter(([, schema]) => schema.type === 'object')
  return objects.map(([name, schema]) =>
    element(
      'section',
      { id: `schema-${name}`, 'aria-labelledby': `schema-${name}-title` },
      element('h3', { id: `schema-${name}-title` }, name),
      element(
        'table',
        {},
        element('thead', {}, row('th', ['Member', 'Type', 'Required', 'Meaning'])),
        element(
          'tbody',
          {},
          ...Object.entries(schema.properties ?? {}).map(([member, of]) => memberRow(document, schema, member, of)),
        ),
      ),
    ),
  )
}

/**
 * @param {Contract} document
 * @param {Schema} schema
 * @param {string} member
 * @param {Schema | import('./contract.js').Reference} of
 */
function memberRow(document, schema, member, of) {
  const { type, format, items, description = '' } = resolved(document.components.schemas, of)
  const name =
    type === 'array' ? `array of ${items?.$ref?.split('/').at(-1) ?? items?.type}` : [type].flat().join(' or ')
  const isRequired = schema.required?.includes(member) ?? false
  return row('td', [
    member,
    format === undefined ? name : `${name} (${format})`,
    isRequired ? 'yes' : 'no',
    ...inline(description),
  ])
}

/**
 * @param {'td' | 'th'} cell
 * @param {(Node | string)[]} contents the fourth cell takes the fourth and all further ones
 */
function row(cell, contents) {
  const cells = [
    ...contents.slice(0, 3).map((content) => element(cell, {}, content)),
    element(cell, {}, ...contents.slice(3)),
  ]
  return element('tr', {}, ...cells)
}
