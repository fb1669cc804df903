import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { makeSecret, SCOPES, type Scope } from '../../src/domain/token.ts'
import type { OperationParameters } from '../../src/http/request/operations.generated.ts'
import { foreignOperation, type Operation } from '../../src/http/request/operations.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { type Credential, makeThings, ROWS, refusalOf, rowOf, sendAll, stateOf } from '../support/access.ts'
import { callTool, postMessage, refusalIn } from '../support/agents.ts'
import { contract } from '../support/conforms.ts'
import { Issuer } from '../support/issuer.ts'
import { type Answer, SECRET, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { LOCAL } from '../support/webhooks.ts'

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
      let things = await makeThings(service)
      for (const credential of credentials) {
        if (refusalOf(credential, operation) !== undefined) continue
        for (const { status, body } of await sendAll(service, operation, credential, things)) {
          assert.equal(status, rowOf(operation).status, `${operation.id}, ${credential.name}: ${body}`)
        }
        if (operation.method !== 'GET') things = await makeThings(service, undefined, { operation, things })
      }
    }
  })
})

suite('every tool of /mcp with every kind of token', () => {
  test('is refused like an operation, or unknown without the scopes of its operation, or succeeds', async (t) => {
    const issuer = await Issuer.start(t)
    const own = { authFailureLimit: undefined, mcp: 'delete', public: 'all' }
    const service = await withService(t, { ...issuer.settings, ...LOCAL, ...own })
    const credentials = [...(await ownTokens(service)), ...(await jwts(issuer))]
    await makeThings(service)
    const before = await stateOf(service)
    const given = argumentsFor(await etagIn(service))
    assert.deepEqual(Object.keys(given).sort(), Object.keys(TOOLS).sort())
    for (const [name, { operation }] of Object.entries(TOOLS)) {
      const refused = credentials.filter((credential) => refusalOf(credential, operationOf(operation)) !== undefined)
      await Promise.all(
        refused.map(async (credential) => {
          const isOut = refusalOf(credential, POST_MCP) !== undefined
          // Such a body is refused, too, but later.
          const answer = await (isOut
            ? postMessage(service, 'x', credential)
            : callTool(service, name, given[name], credential))
          if (isOut) assertRefused(service, POST_MCP, credential, answer)
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

  onService('is no path without --mcp, whatever the token', { authFailureLimit: undefined }, async (service) => {
    for (const credential of await ownTokens(service)) {
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
  const past = await issuer.sign({ exp: now - 3600, iat: now - 7200 })
  const other = await issuer.sign({ aud: 'another service' })
  return [
    { name: 'JWT expired', authorization: `Bearer ${past}`, gives: 40103 },
    { name: 'JWT of another audience', authorization: `Bearer ${other}`, gives: 40102 },
    ...(await Promise.all([good(SCOPES), good([], 'openid'), ...SCOPES.map((scope) => good([scope]))])),
  ]
}
