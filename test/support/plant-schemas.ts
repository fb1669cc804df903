import { isDeepStrictEqual } from 'node:util'
import { type Document, resolve } from '../../scripts/contract-source.ts'
import { MAX_NAME, MAX_TAG } from '../../src/domain/plant.ts'

const ID = { type: 'integer', format: 'int64' }
/** No portable pattern excludes lone surrogates; the description of Name does. */
const TEXT = { type: 'string', pattern: '^[^\\u0000]*$' }
const TAG = { ...TEXT, maxLength: MAX_TAG }
const PLANT = { id: ID, name: { ...TEXT, maxLength: MAX_NAME }, tag: TAG }

/** The rules of validatePlant and validatePatch as schemas, by the operation that takes such a body. */
const ENFORCED: Readonly<Record<string, object>> = {
  createPlant: { type: 'object', required: ['id', 'name'], properties: PLANT },
  replacePlant: { type: 'object', required: ['name'], properties: PLANT },
  updatePlant: { type: 'object', properties: { ...PLANT, tag: { ...TAG, type: ['string', 'null'] } } },
}

/** Keywords that only annotate (JSON Schema 2020-12, Validation, section 9). */
const ANNOTATION = /^(?:title|description|examples?|deprecated|\$comment|x-.*)$/

/**
 * Compares the contract's schemas of plants with the rule in src/domain/plant.ts, so that neither changes without the other.
 *
 * @throws Error when an operation's body has a schema that the rule does not enforce exactly
 */
export function checkPlantSchemas(document: Document): void {
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const enforced = ENFORCED[operation.operationId ?? '']
    if (enforced === undefined) continue
    for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
      const declared = rulesOf(document, schema)
      if (isDeepStrictEqual(declared, enforced)) continue
      const name = `openapi.yaml: the body of ${operation.operationId} (${type})`
      throw new Error(
        `${name} is ${JSON.stringify(declared)}; src/domain/plant.ts enforces ${JSON.stringify(enforced)}`,
      )
    }
  }
}

/** A schema without references and annotations. */
function rulesOf(document: Document, schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((part) => rulesOf(document, part))
  const { properties, ...keywords } = resolve<{ properties?: object }>(document, schema)
  const rules = Object.entries(keywords).filter(([keyword]) => !ANNOTATION.test(keyword))
  const all = rules.map(([keyword, value]) => [keyword, rulesOf(document, value)])
  if (properties === undefined) return Object.fromEntries(all)
  const members = Object.entries(properties).map(([name, member]) => [name, rulesOf(document, member)])
  return Object.fromEntries([...all, ['properties', Object.fromEntries(members)]])
}
