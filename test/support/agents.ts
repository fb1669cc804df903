import assert from 'node:assert/strict'
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Scene } from './clean-up.ts'
import { type Answer, SECRET, type Sending, type Service } from './service.ts'
import { certificate } from './transport.ts'

/** How the official client finds the revision: by `server/discover`, by `initialize`, or either. */
export const MODES = [{ pin: '2026-07-28' }, 'legacy', 'auto'] as const

/** The part of a message by which revision 2026-07-28 replaces `initialize`. */
export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
export const MESSAGE_HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
}

/** Where and how to send a message. */
type MessageSending = Sending & { readonly path?: string }

/** Sends a message as it is, or as JSON, with the headers that the revision demands. */
export function postMessage(
  service: Service,
  message: unknown,
  { headers, path = '/mcp', ...sending }: MessageSending = {},
): Promise<Answer> {
  const body = typeof message === 'string' ? message : JSON.stringify(message)
  return service.send('POST', path, { ...sending, headers: { ...MESSAGE_HEADERS, ...headers }, body })
}

export const callMessage = (name: string, given: unknown = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: given, _meta: META },
})

/** The number and the message of a refusal, which /mcp writes as an error of JSON-RPC. */
export const refusalIn = ({ body }: Answer): { readonly error: number; readonly message: string } =>
  JSON.parse(body).error.data

export const refusedAs = (answer: Answer): number => refusalIn(answer).error

export const callTool = (
  service: Service,
  name: string,
  given: unknown,
  sending: MessageSending = {},
): Promise<Answer> =>
  postMessage(service, callMessage(name, given), {
    ...sending,
    headers: { 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
  })

/** Connects the official client to a service. */
export async function agentOf(
  scene: Scene,
  service: Service,
  mode: (typeof MODES)[number] = MODES[0],
  token = SECRET,
): Promise<Agent> {
  const scheme = certificate() === undefined ? 'http' : 'https'
  const url = new URL(`${scheme}://127.0.0.1:${service.port}/mcp`)
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  })
  return connected(scene, transport, mode)
}

export async function connected(scene: Scene, transport: Transport, mode: (typeof MODES)[number]): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  scene.after(() => client.close())
  return new Agent(client)
}

/** An agent that calls tools by the official client. */
export class Agent {
  readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  async names(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name).sort()
  }

  /** Calls a tool, and returns the JSON of its result. */
  async call(name: string, given: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const result = await this.#call(name, given)
    assert.notEqual(result.isError, true, textOf(result))
    const json = JSON.parse(textOf(result)) as Record<string, unknown>
    assert.deepEqual(result.structuredContent, json)
    return json
  }

  /** Calls a tool that refuses, and returns the refusal. */
  async refusal(name: string, given: Record<string, unknown> = {}): Promise<{ error: number; message: string }> {
    const result = await this.#call(name, given)
    assert.equal(result.isError, true, textOf(result))
    return JSON.parse(textOf(result)) as { error: number; message: string }
  }

  #call(name: string, given: Record<string, unknown>): Promise<CallToolResult> {
    return this.client.callTool({ name, arguments: given })
  }
}

function textOf({ content }: CallToolResult): string {
  const [first] = content
  return first?.type === 'text' ? first.text : assert.fail('the result has no text')
}
