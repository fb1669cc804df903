import { randomUUID } from 'node:crypto'
import { parseExact } from '../../client/src/exact-json.ts'
import type { Config } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { type Service, serviceOf } from './service-client.ts'

/** The parts of a message of JSON-RPC that a request of HTTP repeats, or its refusal needs. */
interface Message {
  readonly id?: string | number | bigint
  readonly method?: string
  readonly params?: { readonly name?: string; readonly _meta?: Readonly<Record<string, string>> }
}

/** The codes of JSON-RPC for refusals of the service. It leaves -32000 to -32099 to servers. */
const CODES: Readonly<Record<number, number>> = { 40001: -32700, 40002: -32600 }
const REFUSED = -32000

/** Bytes of a line. The service takes far less, but its refusal needs the id, which clients write last. */
const MAX_LINE = 2 ** 20

/**
 * Passes messages of the Model Context Protocol from standard input to a service, one after the other, and its answers
 * to standard output, each in a line. The service has all tools, so the command needs no SDK and never lags behind it.
 */
export async function forwardMessages(flags: Flags, config: Config): Promise<void> {
  const service = serviceOf(flags, config)
  // As bytes: Node.js would repair invalid UTF-8.
  process.stdin.setEncoding('latin1')
  // What the agent changes in one run of the program is one action, which a person can take back in one go.
  const run = { 'plantstore-action': randomUUID(), 'plantstore-action-title': 'agent' }
  for await (const line of linesOf(process.stdin)) {
    const answer = await answerTo(line, service, run)
    if (answer !== '') process.stdout.write(`${answer}\n`)
  }
}

/** Yields lines without their ends, and no more than one chunk beyond MAX_LINE of each. */
async function* linesOf(input: AsyncIterable<string>): AsyncGenerator<string> {
  let line = ''
  for await (const chunk of input) {
    for (const [i, part] of chunk.split('\n').entries()) {
      if (i > 0) {
        yield line
        line = ''
      }
      if (line.length <= MAX_LINE) line += part
    }
  }
  yield line
}

/** @param line bytes as latin1 */
async function answerTo(line: string, service: Service, run: Readonly<Record<string, string>>): Promise<string> {
  if (line.length > MAX_LINE) return refusal({}, `the line is longer than ${MAX_LINE} bytes`)
  if (line.trim() === '') return ''
  const bytes = Buffer.from(line, 'latin1')
  let message: Message = {}
  try {
    message = Object(parseExact(bytes.toString()))
  } catch {
    // The service says what is wrong with it.
  }
  try {
    const isRequest = message.id !== undefined && message.method !== undefined
    const answer = await service.post('/mcp', { ...headersOf(message), ...run }, bytes, isRequest)
    if (typeof answer === 'string') return answer
    const hint = answer.number === 40401 ? '; the service needs --mcp on' : ''
    return refusal(message, `error ${answer.number}: ${answer.message}${hint}`, CODES[answer.number])
  } catch (error) {
    return refusal(message, error instanceof Error ? error.message : String(error))
  }
}

/** The headers that revision 2026-07-28 demands of HTTP. */
function headersOf({ method, params }: Message): Record<string, string> {
  const version = params?._meta?.['io.modelcontextprotocol/protocolVersion']
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
    ...(method === undefined ? {} : { 'mcp-method': method }),
    ...(params?.name === undefined ? {} : { 'mcp-name': params.name }),
  }
}

/** Answers a request, also one without a known id. Only standard error can tell of a refused notification. */
function refusal({ id, method }: Message, why: string, code = REFUSED): string {
  if (id !== undefined || method === undefined) {
    const written = typeof id === 'bigint' ? String(id) : JSON.stringify(id ?? null)
    return `{"jsonrpc":"2.0","id":${written},"error":${JSON.stringify({ code, message: why })}}`
  }
  process.stderr.write(`plantstore: ${why}\n`)
  return ''
}
