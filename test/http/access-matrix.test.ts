import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { makeSecret, SCOPES, type Scope } from '../../src/domain/token.ts'
import type { OperationParameters } from '../../src/http/request/operations.generated.ts'
import { foreignOperation, type Operation } from '../../src/http/request/operations.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { callTool, refusalIn } from '../support/agents.ts'
import { contract } from '../support/conforms.ts'
import { Issuer } from '../support/issuer.ts'
import { JWT_FAULTS } from '../support/jwt-faults.ts'
import { type Answer, errorOf, SECRET, type Sending, type Service, withService } from '../support/service.ts'
import { createdWebhook, LOCAL, sendJson } from '../support/webhooks.ts'

/** What an operation may change: a plant with the id 1, a token, and a webhook. */
interface Things {
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
const ROWS: Readonly<Record<keyof OperationParameters, Row>> = {
  listPlants: { status: 200, queries: ['', '?sort=-changed&count=true'] },
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

/** The tag of the plant 1 of a token with a part, a tag beside the part, and the parts of tokens. */
const [IN, BESIDE] = ['bed/1', 'shed']
const PARTS = { in: ['bed/'], out: ['house'], leaving: ['bed/'] } as const
const WHERE = { in: 'in the part', out: 'outside of it', leaving: 'taken out of it' } as const
type Place = keyof typeof PARTS

/**
 * What a token with all scopes and a part gets: the status, or the number of the refusal, where the plant 1 is in its
 * part, and outside of it. The type check fails for an operation without a row.
 */
type InParts = Readonly<Record<keyof OperationParameters, readonly [] | readonly [within: number, outside: number]>>
/** As a token without a part. */
const SAME = [] as const
const IN_PARTS: InParts = {
  listPlants: SAME,
  listDeletedPlants: SAME,
  createPlant: [200, 40303],
  importPlants: SAME,
  exportPlants: SAME,
  getPlant: [200, 40402],
  replacePlant: [200, 40303],
  updatePlant: [200, 40402],
  deletePlant: [204, 40402],
  getHistory: SAME,
  listChanges: SAME,
  listActions: SAME,
  getAction: [200, 40402],
  undoAction: [200, 40402],
  listTags: SAME,
  proposeId: SAME,
  reserveIds: SAME,
  listTokens: [40303, 40303],
  createToken: SAME,
  getOwnToken: SAME,
  revokeToken: [40302, 40302],
  rotateToken: [40302, 40302],
  listWebhooks: SAME,
  createWebhook: SAME,
  getWebhook: [40402, 40402],
  deleteWebhook: [40402, 40402],
  updateWebhook: [40402, 40402],
  testWebhook: [40402, 40402],
  rotateWebhookSecret: [40402, 40402],
  redeliverWebhook: [40402, 40402],
  listWebhookDeliveries: [40402, 40402],
  getLiveness: SAME,
  getReadiness: SAME,
  getMetrics: [40303, 40303],
  getStart: SAME,
  getPageFile: SAME,
  getContract: SAME,
  getResourceMetadata: SAME,
  getDocs: SAME,
  getDocsFile: SAME,
}
/** What it gets for a write that would take the plant out of the part. */
const LEAVING: Partial<InParts> = {
  createPlant: [40303, 40303],
  replacePlant: [40303, 40303],
  updatePlant: [40303, 40303],
}

/** Arguments with which each tool of `/mcp` succeeds, for a plant with the id 1 and this etag. */
const argumentsFor = (etag: string): Readonly<Record<string, object>> => ({
  search_plants: {},
  get_plant: { id: '1' },
  get_history: { id: '1' },
  list_deleted: {},
  list_tags: {},
  list_actions: {},
  undo_action: { id: '1' },
  create_plant: { id: '2', name: 'new' },
  update_plant: { id: '1', etag, tag: 'updated' },
  delete_plant: { id: '1', etag },
  check_import: { format: 'csv', content: 'id,name\n3,imported\n' },
})

/** Any good token may send messages; each tool has the scopes of its operation. */
const POST_MCP = foreignOperation({ id: 'callTools', method: 'POST', path: '/mcp', scopes: [] })

interface Credential {
  readonly name: string
  readonly authorization: string | null
  /** The number of the refusal, or the scopes of a good token. */
  readonly gives: 40101 | 40102 | 40103 | readonly Scope[]
}

/** Returns the number with which an operation refuses a credential; undefined where it takes it. */
function refusalOf({ gives }: Credential, { scopes }: Operation): number | undefined {
  if (scopes === undefined) return undefined
  if (typeof gives === 'number') return gives
  return gives.length > 0 && scopes.every((scope) => gives.includes(scope)) ? undefined : 40301
}

suite('every operation with every kind of token', () => {
  test('has a row, and answers with the status, the number and the challenge of the kind', async (t) => {
    assert.deepEqual(contract.operations.map(({ id }) => id).sort(), Object.keys(ROWS).sort())
    const issuer = await Issuer.start(t)
    const service = await withService(t, { ...issuer.settings, ...LOCAL, authFailureLimit: undefined })
    const credentials = [...(await ownTokens(service)), ...(await jwts(issuer))]
    const things = await makeThings(service)
    const before = await stateOf(service)
    for (const operation of contract.operations) {
      const refused = credentials.filter((credential) => refusalOf(credential, operation) !== undefined)
      await Promise.all(
        refused.map(async (credential) => {
          for (const answer of await sendAll(service, operation, credential, things)) {
            assertRefused(service, operation, credential, answer)
          }
        }),
      )
      assert.deepEqual(await stateOf(service), before, `${operation.id} changed something when it refused a token`)
    }
    for (const operation of contract.operations) {
      for (const credential of credentials) {
        if (refusalOf(credential, operation) !== undefined) continue
        for (const { status, body } of await sendAll(service, operation, credential, await makeThings(service))) {
          assert.equal(status, rowOf(operation).status, `${operation.id}, ${credential.name}: ${body}`)
        }
      }
    }
  })
})

suite('every operation with a part of the store', () => {
  for (const place of ['in', 'out', 'leaving'] as const satisfies readonly Place[]) {
    test(`answers where a plant is ${WHERE[place]}`, async (t) => {
      const issuer = await Issuer.start(t)
      const service = await withService(t, { ...issuer.settings, ...LOCAL })
      const make = { name: 'part', scopes: SCOPES, part: PARTS[place] }
      const { secret } = (await sendJson(service, 'POST', '/tokens', make)).json as { secret: string }
      const credential: Credential = { name: place, authorization: `Bearer ${secret}`, gives: SCOPES }
      const tag = place === 'leaving' ? BESIDE : IN
      for (const operation of contract.operations) {
        const things = await makeThings(service, IN)
        const id = operation.id as keyof OperationParameters
        const [own, other] = (place === 'leaving' ? LEAVING[id] : undefined) ?? IN_PARTS[id]
        const expected = (place === 'out' ? other : own) ?? rowOf(operation).status
        const before = (await stateOf(service)).slice(0, -1)
        for (const answer of await sendAll(service, operation, credential, things, tag)) {
          const { status, body } = answer
          const got = status < 400 ? status : errorOf(answer)
          assert.equal(got, expected, `${id}: ${body}`)
        }
        if (expected > 999) assert.deepEqual((await stateOf(service)).slice(0, -1), before, `${id} changed something`)
      }
    })
  }
})

suite('every tool of /mcp with every kind of token', () => {
  test('is refused like an operation, or unknown without the scopes of its operation, or succeeds', async (t) => {
    const issuer = await Issuer.start(t)
    const service = await withService(t, { ...issuer.settings, ...LOCAL, authFailureLimit: undefined, mcp: 'delete' })
    const credentials = [...(await ownTokens(service)), ...(await jwts(issuer))]
    await makeThings(service)
    const before = await stateOf(service)
    const given = argumentsFor(await etagIn(service))
    assert.deepEqual(Object.keys(given).sort(), Object.keys(TOOLS).sort())
    for (const [name, { operation }] of Object.entries(TOOLS)) {
      const refused = credentials.filter((credential) => refusalOf(credential, operationOf(operation)) !== undefined)
      await Promise.all(
        refused.map(async (credential) => {
          const answer = await callTool(service, name, given[name], credential)
          if (refusalOf(credential, POST_MCP) !== undefined) assertRefused(service, POST_MCP, credential, answer)
          else assert.match(answer.body, /"code":-32602,"message":"Tool \w+ not found"/, `${name}, ${credential.name}`)
        }),
      )
      assert.deepEqual(await stateOf(service), before, `${name} changed something when it refused a token`)
    }
    for (const [name, { operation }] of Object.entries(TOOLS)) {
      for (const credential of credentials) {
        if (refusalOf(credential, operationOf(operation)) !== undefined) continue
        await makeThings(service)
        const { body } = await callTool(service, name, argumentsFor(await etagIn(service))[name], credential)
        const { result } = JSON.parse(body) as { result?: { isError?: true } }
        assert.ok(result !== undefined && result.isError === undefined, `${name}, ${credential.name}: ${body}`)
      }
    }
  })

  test('is no path without --mcp, whatever the token', async (t) => {
    const issuer = await Issuer.start(t)
    const service = await withService(t, { ...issuer.settings, authFailureLimit: undefined })
    for (const credential of [...(await ownTokens(service)), ...(await jwts(issuer))]) {
      const { status, json } = await callTool(service, 'list_tags', {}, credential)
      assert.deepEqual([status, (json as { error: number }).error], [404, 40401], credential.name)
    }
  })
})

const operationOf = (id: keyof OperationParameters): Operation =>
  contract.operations.find((operation) => operation.id === id) ?? assert.fail(id)

/** The version of the plant 1, without quotation marks. */
const etagIn = async (service: Service): Promise<string> =>
  String((await service.send('GET', '/plants/1')).headers['etag']).slice(1, -1)

const rowOf = ({ id }: Operation): Row => ROWS[id as keyof OperationParameters]

async function sendAll(
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

function assertRefused(service: Service, operation: Operation, credential: Credential, answer: Answer): void {
  const about = `${operation.id}, ${credential.name}: ${answer.body}`
  const number = refusalOf(credential, operation)
  const { error, message } = operation === POST_MCP ? refusalIn(answer) : (answer.json as ReturnType<typeof refusalIn>)
  assert.deepEqual([answer.status, error], [Math.floor((number ?? 0) / 100), number], about)
  const metadata = `resource_metadata="http://127.0.0.1:${service.port}/.well-known/oauth-protected-resource"`
  const needed = operation.scopes?.length === 0 ? SCOPES : (operation.scopes ?? [])
  const details: Readonly<Record<number, readonly string[]>> = {
    40101: [metadata],
    40102: ['error="invalid_token"', `error_description="${message}"`, metadata],
    40103: ['error="invalid_token"', 'error_description="the access token has expired"', metadata],
    40301: ['error="insufficient_scope"', `scope="${needed.join(' ')}"`],
  }
  const challenge = ['Bearer realm="plantstore"', ...(details[number ?? 0] ?? [])].join(', ')
  assert.equal(answer.headers['www-authenticate'], challenge, about)
}

async function ownTokens(service: Service): Promise<Credential[]> {
  const bearer = async (scopes: readonly Scope[], end?: Date) => {
    const { secret, token } = await service.issueToken(scopes, end)
    return { id: token.id, authorization: `Bearer ${secret}` }
  }
  const past = await bearer(SCOPES, new Date(Date.now() - 1))
  const revoked = await bearer(SCOPES)
  await service.store.tokens.revokeToken(revoked.id)
  const single = SCOPES.map(async (scope) => ({ name: scope, ...(await bearer([scope])), gives: [scope] }))
  return [
    { name: 'none', authorization: null, gives: 40101 },
    { name: 'another scheme', authorization: 'Basic dXNlcjpwYXNz', gives: 40101 },
    { name: 'nothing after the scheme', authorization: 'Bearer ', gives: 40102 },
    { name: 'malformed', authorization: 'Bearer ps_nonsense', gives: 40102 },
    { name: 'wrong check digits', authorization: `Bearer ps_${'0'.repeat(49)}`, gives: 40102 },
    { name: 'unknown', authorization: `Bearer ${makeSecret()}`, gives: 40102 },
    { name: 'expired', ...past, gives: 40103 },
    { name: 'revoked', ...revoked, gives: 40102 },
    { name: 'all scopes', ...(await bearer(SCOPES)), gives: SCOPES },
    { name: 'configured', authorization: `Bearer ${SECRET}`, gives: SCOPES },
    ...(await Promise.all(single)),
  ]
}

async function jwts(issuer: Issuer): Promise<Credential[]> {
  const now = Math.floor(Date.now() / 1000)
  const good = async (scopes: readonly Scope[], scope = scopes.join(' ')): Promise<Credential> => ({
    name: `JWT with ${scope}`,
    authorization: `Bearer ${await issuer.sign({ scope })}`,
    gives: scopes,
  })
  const faults = Object.entries(JWT_FAULTS).map(
    async ([name, make]): Promise<Credential> => ({
      name,
      authorization: `Bearer ${await make(issuer, 'http://127.0.0.1:9/')}`,
      gives: 40102,
    }),
  )
  const past = await issuer.sign({ exp: now - 3600, iat: now - 7200 })
  return [
    { name: 'JWT expired', authorization: `Bearer ${past}`, gives: 40103 },
    ...(await Promise.all([good(SCOPES), good([], 'openid'), ...SCOPES.map((scope) => good([scope])), ...faults])),
  ]
}

async function makeThings(service: Service, tag?: string): Promise<Things> {
  const headers = { 'Content-Type': 'application/json', 'Plantstore-Action': '1' }
  for (const name of ['x', 'y', 'x']) {
    await service.send('PUT', '/plants/1', { headers, body: JSON.stringify({ name, tag }) })
  }
  const { webhooks } = service.store
  for (const { webhook } of await webhooks.list()) await webhooks.delete(webhook.id)
  const { id: webhook } = await createdWebhook(service, { url: 'http://127.0.0.1:9/hook' })
  // A token rotates only tokens that end before it, and a JWT ends within the hour.
  const { token } = await service.issueToken(['tokens'], new Date(Date.now() + 600_000))
  return { token: token.id, webhook }
}

/** All that an operation can change, and the audit log, which has a line for each change. */
const stateOf = async (service: Service): Promise<unknown[]> => [
  await service.plants(),
  (await service.store.tokens.listTokens()).map(({ lastUsedAt: _, ...token }) => token),
  (await service.store.webhooks.list()).map(({ webhook }) => webhook),
  await service.store.changes?.end(),
  service.audited.filter((line) => !line.includes('"outcome":"refused"')),
]
