// What requests of every operation need, so that a test can send each with each kind of sender.
import type { Scope } from '../../src/domain/token.ts'
import type { OperationParameters } from '../../src/http/request/operations.generated.ts'
import type { Operation } from '../../src/http/request/operations.ts'
import type { Answer, Sending, Service } from './service.ts'
import { createdWebhook } from './webhooks.ts'

/** What an operation may change: a plant with the id 1, a token, and a webhook. */
export interface Things {
  readonly token: string
  readonly webhook: string
}

/** A request that succeeds with a good token. */
interface Row {
  readonly status: number
  /** In place of the path of the contract; without it, the path has the id 1. */
  readonly path?: (things: Things) => string
  /** A text, or a value for JSON. */
  readonly body?: unknown
  readonly type?: string
  /** Queries with which the operation does something else each time. */
  readonly queries?: readonly string[]
}

const ofToken = ({ token }: Things): string => `/tokens/${token}`
const ofWebhook =
  (rest = '') =>
  ({ webhook }: Things): string =>
    `/webhooks/${webhook}${rest}`

/** The type check and the test both fail for an operation without a row. */
export const ROWS: Readonly<Record<keyof OperationParameters, Row>> = {
  listPlants: { status: 200 },
  listDeletedPlants: { status: 200 },
  createPlant: { status: 200, body: { id: 2, name: 'new' } },
  importPlants: {
    status: 200,
    body: '{"id":3,"name":"imported"}\n{"id":1,"name":"x"}\n',
    type: 'application/x-ndjson',
    queries: ['', '?mode=update', '?mode=delete'],
  },
  exportPlants: { status: 200 },
  getPlant: { status: 200 },
  replacePlant: { status: 200, body: { name: 'replaced' } },
  updatePlant: { status: 200, body: { tag: 'updated' } },
  deletePlant: { status: 204 },
  getHistory: { status: 200 },
  listChanges: { status: 200 },
  listActions: { status: 200 },
  getAction: { status: 200 },
  undoAction: { status: 200, queries: ['', '?dryRun=true'] },
  listTags: { status: 200, queries: ['', '?prefix=a&q=a'] },
  proposeId: { status: 200 },
  reserveIds: { status: 200, body: { count: 2 } },
  listTokens: { status: 200 },
  createToken: { status: 201, body: { name: 'new', scopes: ['tokens'] } },
  getOwnToken: { status: 200 },
  revokeToken: { status: 204, path: ofToken },
  rotateToken: { status: 201, path: (things) => `${ofToken(things)}/rotate`, body: {} },
  listWebhooks: { status: 200 },
  createWebhook: { status: 201, body: { url: 'http://127.0.0.1:9/new' } },
  getWebhook: { status: 200, path: ofWebhook() },
  deleteWebhook: { status: 204, path: ofWebhook() },
  updateWebhook: { status: 200, path: ofWebhook(), body: { description: 'updated' } },
  testWebhook: { status: 200, path: ofWebhook('/test') },
  rotateWebhookSecret: { status: 200, path: ofWebhook('/secret'), body: { overlapSeconds: 0 } },
  redeliverWebhook: { status: 200, path: ofWebhook('/redeliver'), body: { after: 'now' } },
  listWebhookDeliveries: { status: 200, path: ofWebhook('/deliveries') },
  getLiveness: { status: 200 },
  getReadiness: { status: 200 },
  getMetrics: { status: 200 },
  getStart: { status: 303 },
  getPageFile: { status: 200, path: () => '/page/page.js' },
  getContract: { status: 200 },
  getResourceMetadata: { status: 200 },
  getDocs: { status: 200 },
  getDocsFile: { status: 200, path: () => '/docs/page.js' },
}

export interface Credential {
  readonly name: string
  readonly authorization: string | null
  /** The number of the refusal, or the scopes of a good token. */
  readonly gives: 40101 | 40102 | 40103 | readonly Scope[]
}

/** Returns the number with which an operation refuses a credential; undefined where it takes it. */
export function refusalOf({ gives }: Credential, { scopes }: Operation): number | undefined {
  if (scopes === undefined) return undefined
  if (typeof gives === 'number') return gives
  return gives.length > 0 && scopes.every((scope) => gives.includes(scope)) ? undefined : 40301
}

export const rowOf = ({ id }: Operation): Row => ROWS[id as keyof OperationParameters]

export async function sendAll(
  service: Service,
  operation: Operation,
  { authorization }: Credential,
  things: Things,
  tag?: string,
): Promise<Answer[]> {
  const { path, body: plain, type = 'application/json', queries = [''] } = rowOf(operation)
  const isOfPlant = plain instanceof Object && /^(create|replace|update)Plant$/.test(operation.id)
  const body = isOfPlant && tag !== undefined ? { ...plain, tag } : plain
  const sending: Sending =
    body === undefined
      ? {}
      : { headers: { 'Content-Type': type }, body: typeof body === 'string' ? body : JSON.stringify(body) }
  const address = path?.(things) ?? operation.path.replace('{id}', '1')
  const answers: Answer[] = []
  for (const query of queries) {
    answers.push(await service.send(operation.method, address + query, { ...sending, authorization }))
  }
  return answers
}

/** @param changed makes only what this operation may have changed of these things */
export async function makeThings(
  service: Service,
  tag?: string,
  changed?: { readonly operation: Operation; readonly things: Things },
): Promise<Things> {
  const isDue = (...paths: string[]) =>
    changed === undefined || paths.some((path) => changed.operation.path.startsWith(path))
  const headers = { 'Content-Type': 'application/json', 'Plantstore-Action': '1' }
  for (const name of isDue('/plants', '/actions') ? ['x', 'y', 'x'] : []) {
    await service.send('PUT', '/plants/1', { headers, body: JSON.stringify({ name, tag }) })
  }
  let { webhook = '', token = '' } = changed?.things ?? {}
  if (isDue('/webhooks')) {
    const { webhooks } = service.store
    for (const known of await webhooks.list()) await webhooks.delete(known.webhook.id)
    webhook = (await createdWebhook(service, { url: 'http://127.0.0.1:9/hook' })).id
  }
  // A token rotates only tokens that end before it, and a JWT ends within the hour.
  if (isDue('/tokens')) token = (await service.issueToken(['tokens'], new Date(Date.now() + 600_000))).token.id
  return { token, webhook }
}

/** All that an operation can change, and the audit log, which has a line for each change. */
export const stateOf = async (service: Service): Promise<unknown[]> => [
  await service.plants(),
  (await service.store.tokens.listTokens()).map(({ lastUsedAt: _, ...token }) => token),
  (await service.store.webhooks.list()).map(({ webhook }) => webhook),
  await service.store.changes?.end(),
  service.audited.filter((line) => !line.includes('"outcome":"refused"')),
]
