import { ERRORS, type ErrorNumber, statusOf } from '../src/domain/errors.ts'
import { compiledOperations, type Document, readSource } from './contract-source.ts'
import { table } from './markdown.ts'

const INTRODUCTION = `# Errors

Every refusal has this body, with exactly these two members:

\`\`\`json
{"error": 40901, "message": "the id 1 belongs to a different plant; nothing was changed"}
\`\`\`

\`error\` is the HTTP status times 100 plus a counter; a program should decide by it. \`message\` is for people: it names
every fault, and its words may change. A number never gets another meaning. [Writing
clients](../guides/writing-clients.md) says after which of them a retry helps.
`

const EXPLANATION = `
"Operations" are those of [openapi.yaml](../../openapi.yaml) that can answer with the number. A number without
operations refuses a path or method that no operation has.
`

/** The page of all numbers of src/domain/errors.ts, with the operations whose contract names them. */
export function errorsPage(): string {
  const document = readSource()
  const { length } = compiledOperations(document)
  const users = operationsByError(document)
  const rows = Object.entries(ERRORS).map(([key, meaning]) => {
    const number = Number(key) as ErrorNumber
    const ids = users.get(number) ?? new Set()
    const words = ids.size === length ? 'all' : [...ids].map((id) => `\`${id}\``).join(', ')
    return [key, String(statusOf(number)), meaning, words]
  })
  return `${INTRODUCTION}${EXPLANATION}\n${table([['error', 'status', 'meaning', 'operations'], ...rows])}`
}

function operationsByError(document: Document): Map<number, Set<string>> {
  const users = new Map<number, Set<string>>()
  for (const item of Object.values(document.paths)) {
    for (const { operationId, 'x-errors': numbers } of Object.values(item)) {
      for (const number of numbers) {
        if (!(number in ERRORS)) throw new Error(`openapi.yaml: ${operationId} names the unknown error ${number}`)
        users.set(number, (users.get(number) ?? new Set()).add(operationId ?? ''))
      }
    }
  }
  return users
}
