import { ERRORS, type ErrorNumber, statusOf } from '../src/errors.ts'
import {
  type Document,
  type OperationObject,
  type ResponseObject,
  readContract,
  resolve,
} from '../src/http/operations.ts'
import { table } from './markdown.ts'

const INTRODUCTION = `# Errors

Every answer that is not a success has this body and nothing else, whatever went wrong and wherever:

\`\`\`json
{"error": 40901, "message": "the id 1 belongs to a different plant; nothing was changed"}
\`\`\`

\`error\` is the HTTP status times 100 plus a counter; decide by it. \`message\` is for people, names everything that is
wrong, and its words may change. A number is never used again for anything else. [Writing
clients](../guides/writing-clients.md) says which of them are worth another try.
`

const EXPLANATION = `
"Operations" are those of [openapi.yaml](../../openapi.yaml) that can answer with the number. A number without one
answers a path or method that no operation has, or is kept for operations to come.
`

/** Every number of src/errors.ts, with the operations whose contract names it. */
export function errorsPage(): string {
  const { document, operations } = readContract()
  const users = operationsByError(document)
  const rows = Object.entries(ERRORS).map(([key, meaning]) => {
    const number = Number(key) as ErrorNumber
    const ids = users.get(number) ?? new Set()
    const words = ids.size === operations.length ? 'all' : [...ids].map((id) => `\`${id}\``).join(', ')
    return [key, String(statusOf(number)), meaning, words]
  })
  return `${INTRODUCTION}${EXPLANATION}\n${table([['error', 'status', 'meaning', 'operations'], ...rows])}`
}

function operationsByError(document: Document): Map<number, Set<string>> {
  const users = new Map<number, Set<string>>()
  for (const item of Object.values(document.paths)) {
    for (const { operationId, responses } of Object.values(item) as OperationObject[]) {
      for (const response of Object.values(responses)) {
        for (const number of resolve<ResponseObject>(document, response)['x-errors'] ?? []) {
          if (!(number in ERRORS)) throw new Error(`openapi.yaml: ${operationId} names the unknown error ${number}`)
          users.set(number, (users.get(number) ?? new Set()).add(operationId ?? ''))
        }
      }
    }
  }
  return users
}
