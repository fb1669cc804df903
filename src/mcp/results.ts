import { contractWithTextIds } from '../http/request/text-ids.ts'
import type { OperationAnswer } from '../http/resources/agents.ts'
import type { Tool } from './tools.ts'

/** A schema of JSON Schema, or a part of one. */
type Schema = Readonly<Record<string, unknown>>

interface Success {
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>
}

/** What a schema of a result has. A list of tools is in the context of each agent, so it has no other words. */
const KEPT = ['type', 'required', 'enum', 'const']

/** The members of a result beside the body of the answer, by the header that an answer with them has. */
const BESIDE: Readonly<Record<string, Schema>> = {
  ETag: { etag: { type: 'string' } },
  Link: { next: { type: 'string', description: 'The cursor of the next page; absent on the last one.' } },
  'Plantstore-Log-Since': { since: { type: 'string' } },
  'Plantstore-Total': {
    total: { type: 'integer', description: 'The number of all that match.' },
    totalIsExact: { type: 'boolean', description: 'Otherwise more than so many match.' },
  },
}

/** Returns what makes the schema of a tool's result from the success of its operation. @param document as OpenAPI */
export function resultSchemas(document: object): (tool: Tool) => object {
  const { paths, ...parts } = contractWithTextIds(document) as Document
  const operations = Object.values(paths).flatMap((item) => Object.values(item))
  const resolved = (part: unknown): unknown => {
    const reference = Object(part).$ref
    if (reference === undefined) return part
    const names = String(reference).slice(2).split('/')
    return resolved(names.reduce((at: unknown, name) => Object(at)[name], parts))
  }
  const shortened = (given: unknown): Schema => {
    const schema = Object(resolved(given)) as Schema
    const kept = Object.entries(schema).filter(([name]) => KEPT.includes(name))
    const { properties, items } = schema
    const members = Object.entries(Object(properties)).map(([name, one]) => [name, shortened(one)])
    return {
      ...Object.fromEntries(kept),
      ...(properties === undefined ? {} : { properties: Object.fromEntries(members) }),
      ...(items === undefined ? {} : { items: shortened(items) }),
    }
  }
  return ({ operation, result }) => {
    const found = operations.find(({ operationId }) => operationId === operation)
    const success = Object.entries(Object(Object(found).responses)).find(([status]) => status.startsWith('2'))
    const { headers = {}, content = {} } = resolved(success?.[1]) as Success
    const body = Object.entries(content).find(([type]) => type.startsWith('application/json'))?.[1].schema
    const beside = Object.entries(BESIDE).filter(([name]) => name in headers)
    return {
      type: 'object',
      properties: {
        [result]: body === undefined ? { const: true } : shortened(body),
        ...Object.assign({}, ...beside.map(([, members]) => members)),
      },
      required: [result],
    }
  }
}

/** Writes the JSON of a result around that of the answer, so that every text stays as it is. */
export function writeResult({ result }: Tool, { headers, body }: OperationAnswer): string {
  const { ETag: etag, Link: link, 'Plantstore-Total': found, 'Plantstore-Log-Since': since } = headers
  const next = link && new URL(link.slice(1, link.indexOf('>')), 'http://x').searchParams.get('cursor')
  const [, more, total] = /^(>?)(\d+)$/.exec(found ?? '') ?? []
  const totals = total === undefined ? {} : { total: Number(total), totalIsExact: more === '' }
  const rest = JSON.stringify({ etag: etag?.slice(1, -1), next, since, ...totals }).slice(1, -1)
  return `{"${result}":${body === '' ? 'true' : body}${rest === '' ? '' : `,${rest}`}}`
}
