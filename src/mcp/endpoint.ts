import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { nextTurn } from '../base/time-slice.ts'
import { AppError, errorJson } from '../domain/errors.ts'
import { faultOf } from '../http/request/operations.ts'
import type { AgentCaller, Agents, OperationAnswer } from '../http/resources/agents.ts'
import { type Arguments, TOOLS, type Tool } from './tools.ts'

const INSTRUCTIONS =
  'Plants of a nursery, garden or collection: id, name, optional tag. Ids are strings of decimal digits: never write ' +
  'them as numbers. Before a change, read the plant, and pass its etag. A refusal has a number and says how to mend it.'

/**
 * The Model Context Protocol by its SDK, without sessions: revision 2026-07-28, and those before it in their stateless
 * form. Each message gets a server of its own, with the tools that its token may call.
 *
 * @param mayDelete whether there is a tool that deletes
 * @param onFault called with what the SDK reports of messages that it refuses, and of its own faults
 */
export function agentsEndpoint(version: string, mayDelete: boolean, onFault: (error: Error) => void): Agents {
  const ajv = new Ajv2020({ allErrors: true, verbose: true, allowUnionTypes: true })
  const tools = Object.entries(TOOLS)
    .filter(([, { operation }]) => mayDelete || operation !== 'deletePlant')
    .map(([name, tool]) => ({ name, tool, ...schemaOf(tool, ajv) }))
  return {
    async answer(request, message, caller) {
      const handler = createMcpHandler(
        () => {
          const server = new McpServer(
            { name: 'plantstore', title: 'Plantstore', version },
            { instructions: INSTRUCTIONS, capabilities: { tools: { listChanged: false } } },
          )
          for (const { name, tool, inputSchema, fits } of tools) {
            if (!caller.may(tool.operation)) continue
            const { title, description, hints } = tool
            server.registerTool(name, { title, description, inputSchema, annotations: hints }, (given) =>
              resultOf(tool, given, fits, caller),
            )
          }
          return server
        },
        // Nothing is ever pushed, so no stream stays open.
        { onerror: onFault, maxSubscriptions: 0, keepAliveMs: 0 },
      )
      return handler.fetch(request, { parsedBody: message })
    },
  }
}

/**
 * The schema of a tool's arguments for the SDK, which does not check them: its words for a fault have no number. The form
 * is that of Standard Schema (https://standardschema.dev).
 */
function schemaOf({ properties, required = [] }: Tool, ajv: Ajv2020) {
  const json = { type: 'object', properties, required, additionalProperties: false }
  const fits = ajv.compile<Arguments>(json)
  const inputSchema = {
    '~standard': {
      version: 1 as const,
      vendor: 'plantstore',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => json, output: () => json },
    },
  }
  return { inputSchema, fits }
}

/** UTF-16 units of an answer that are written in less than a millisecond. */
const LONG = 2 ** 15

/** Calls the operation of a tool. A refusal is a result with `isError`, because only results reach the model. */
async function resultOf(tool: Tool, given: unknown, fits: ValidateFunction<Arguments>, { call }: AgentCaller) {
  if (!fits(given))
    return refusalOf(errorJson(40003, `wrong arguments: ${(fits.errors ?? []).map(wordsOf).join('; ')}`))
  try {
    const answer = await call({ operation: tool.operation, ...tool.callOf(given) })
    // The SDK writes a result at once, a long one in up to 10 ms: one in a round of the event loop.
    if (answer.body.length > LONG) await nextTurn()
    return answer.status < 300 ? { content: textOf(writeResult(tool, answer)) } : refusalOf(answer.body)
  } catch (error) {
    if (error instanceof AppError) return refusalOf(errorJson(error.number, error.message))
    throw error
  }
}

function wordsOf(error: ErrorObject): string {
  const unknown = error.params['additionalProperty']
  // A long or strange name may be a misplaced secret.
  if (unknown !== undefined) return /^\w{1,30}$/.test(unknown) ? `${unknown} is unknown` : 'one of them is unknown'
  const { member, message } = faultOf(error)
  const hint =
    member === 'id' && error.keyword === 'type' ? ' such as "7", because numbers are rounded on their way' : ''
  return `${member} ${message}${hint}`
}

const textOf = (text: string) => [{ type: 'text' as const, text }]

const refusalOf = (body: string) => ({ content: textOf(body), isError: true })

/** Writes the JSON of a result around that of the answer, which it never reads, so that every text stays as it is. */
function writeResult({ result }: Tool, { headers, body }: OperationAnswer): string {
  const { ETag: etag, Link: link, 'Plantstore-Total': total } = headers
  const next = link && new URL(link.slice(1, link.indexOf('>')), 'http://x').searchParams.get('cursor')
  const members = { etag: etag?.slice(1, -1), next, total }
  const rest = JSON.stringify(members).slice(1, -1)
  return `{"${result}":${body === '' ? 'true' : body}${rest === '' ? '' : `,${rest}`}}`
}
