import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { exportJWK, exportSPKI, generateKeyPair, UnsecuredJWT } from 'jose'
import { hashSecret, SCOPES } from '../../src/domain/token.ts'
import { chunk, LAST_CHUNK, outcomeOf, rowsFrom } from '../support/import.ts'
import { AUDIENCE, Issuer } from '../support/issuer.ts'
import { openImport, unreadExport, untilIdle, untilRunning, withMuch } from '../support/long-work.ts'
import { pluck } from '../support/pluck.ts'
import { RawConnection } from '../support/raw.ts'
import {
  assertRefused,
  type Bounds,
  emptyService,
  errorOf,
  messageOf,
  SECRET,
  type Service,
  withService,
} from '../support/service.ts'
import { as, createdToken, createToken, NEW } from '../support/tokens.ts'
import { wholeFile } from '../support/whole-file.ts'

const HOUR = 3600
const now = (): number => Math.floor(Date.now() / 1000)

/** Settings of scopes that are roles of a realm. */
const REALM = { oidcScopeClaim: 'realm.roles', oidcScopeMap: 'Reader=plants:read,urn:plants/Chief=tokens' }

let shared: Promise<Issuer> | undefined

/** The identity provider that the tests of this file share, and a service that takes its tokens. */
async function provided(settings: Bounds = {}): Promise<{ issuer: Issuer; service: Service }> {
  shared ??= Issuer.start(wholeFile)
  const issuer = await shared
  return { issuer, service: await emptyService({ ...issuer.settings, authFailureLimit: undefined, ...settings }) }
}

const self = (service: Service, jwt: string) => service.send('GET', '/tokens/self', as(jwt))

suite('a service with an identity provider', () => {
  test('takes its access tokens: scopes, subject and name are in every record of what they do', async () => {
    const { issuer, service } = await provided()
    const jwt = await issuer.token()
    const own = await self(service, jwt)
    assert.equal(own.status, 200, own.body)
    const { expiresAt, store, ...rest } = own.json as { expiresAt: string; store: string }
    const scopes = ['plants:read', 'plants:write', 'tokens']
    assert.deepEqual(rest, { id: 'oidc:program', name: 'program', scopes })
    assert.match(store, /^[0-9a-f]{12}$/)
    assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - HOUR * 1000) < 60_000, expiresAt)
    assert.equal((await service.create({ id: 1, name: 'x' }, as(jwt))).status, 200)
    assert.match(service.audited.at(-1) ?? '', /"createPlant".*"token":"oidc:program","tokenName":"program"/)
    const { json: history } = await service.send('GET', '/plants/1/history', as(jwt))
    assert.deepEqual(pluck(history as { token: string }[], 'token'), ['oidc:program'])
    const few = await issuer.token('plants:read')
    assert.equal((await service.send('GET', '/plants', as(few))).status, 200)
    const refused = await service.create({ id: 2, name: 'x' }, as(few))
    assert.equal(errorOf(refused), 40301)
    assert.match(String(refused.headers['www-authenticate']), /scope="plants:write"/)
    for (const part of jwt.split('.').slice(1)) {
      assert.ok(![service.log, ...service.audited].some((text) => text.includes(part)), 'no log has the token')
    }
    assert.equal((await self(service, SECRET)).status, 200, 'its own tokens work as before')
  })

  test('takes every algorithm that it names, any of its audiences, and 30 s of leeway', async () => {
    const { issuer, service } = await provided()
    for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const) {
      const jwt = await issuer.sign({}, { alg, kid: issuer.kid(alg) })
      assert.equal((await self(service, jwt)).status, 200, alg)
    }
    const good = [
      { aud: ['other', 'another'] },
      { exp: now() - 15, iat: now() - 60 },
      { nbf: now() + 15, iat: now() + 15 },
      { exp: now() + 24 * HOUR },
      { sub: 'x'.repeat(255) },
    ]
    for (const claims of good) {
      const answer = await self(service, await issuer.sign(claims))
      assert.equal(answer.status, 200, answer.body)
    }
    for (const header of [{ typ: 'application/AT+JWT' }, { kid: undefined }]) {
      assert.equal((await self(service, await issuer.sign({}, header))).status, 200, JSON.stringify(header))
    }
  })

  test('refuses every faulty token with 40102, and changes nothing', async (t) => {
    const { issuer, service } = await provided()
    let asked = 0
    const counter = createServer((_request, response) => response.end(String(++asked)))
    await once(counter.listen(0, '127.0.0.1'), 'listening')
    t.after(() => counter.close())
    const counterUrl = `http://127.0.0.1:${(counter.address() as AddressInfo).port}/`
    for (const [fault, make] of Object.entries(JWT_FAULTS)) {
      const answer = await service.create({ id: 1, name: 'x' }, as(await make(issuer, counterUrl)))
      assertRefused(answer, 40102)
      const details = `error="invalid_token", error_description="${messageOf(answer)}"`
      assert.ok(String(answer.headers['www-authenticate']).includes(details), fault)
    }
    for (const exp of [now() - 31, now() - HOUR, 0]) {
      assertRefused(await service.create({ id: 1, name: 'x' }, as(await issuer.sign({ exp, iat: exp - 60 }))), 40103)
    }
    assertRefused(await service.create({ id: 1, name: 'x' }, as(await issuer.sign({ pad: 'x'.repeat(13_000) }))), 43101)
    assert.equal(asked, 0, 'no token leads to a request')
    assert.deepEqual(await service.plants(), [])
    assert.equal((await self(service, await issuer.token())).status, 200, 'a good token passes after all of them')
  })

  test('takes access tokens without an audience of the clients that it is told, and of no others', async () => {
    const { issuer, service } = await provided({ oidcTokenType: 'any', oidcAudience: 'urn:plants,client_id:4fbl' })
    const cognito = { aud: undefined, client_id: '4fbl', token_use: 'access' }
    const statusOf = async (claims: Readonly<Record<string, unknown>>) =>
      (await self(service, await issuer.sign({ ...cognito, ...claims }, { typ: undefined }))).status
    assert.equal(await statusOf({}), 200)
    assert.equal(await statusOf({ token_use: undefined }), 200)
    assert.equal(await statusOf({ aud: 'urn:plants', client_id: 'another' }), 200, 'an audience stands for itself')
    const clients = ['another', undefined, ['4fbl']].map((client_id) => ({ client_id }))
    const audiences = ['another', [], 'client_id:4fbl'].map((aud) => ({ aud }))
    const refused = [{ token_use: 'id' }, { nonce: 'x' }, ...clients, ...audiences]
    for (const claims of refused) assert.equal(await statusOf(claims), 401, JSON.stringify(claims))
    const other = await emptyService({ ...issuer.settings, oidcTokenType: 'any' })
    const jwt = await issuer.sign({ ...cognito, client_id: 'urn:plants' }, { typ: undefined })
    assert.equal((await self(other, jwt)).status, 401, 'a name for aud is none of a client')
  })

  test('takes tokens of the type JWT or none if it is told to, but no ID token', async () => {
    const { issuer, service } = await provided({ oidcTokenType: 'any' })
    for (const typ of ['at+jwt', 'JWT', undefined]) {
      assert.equal((await self(service, await issuer.sign({}, { typ }))).status, 200, String(typ))
    }
    for (const claim of ['nonce', 'at_hash', 'c_hash']) {
      for (const typ of ['JWT', undefined]) {
        const answer = await self(service, await issuer.sign({ [claim]: 'x' }, { typ }))
        assert.equal(messageOf(answer), 'the access token is an ID token')
      }
    }
    assert.equal(errorOf(await self(service, await issuer.sign({}, { typ: 'dpop+jwt' }))), 40102)
    assert.equal(errorOf(await self(service, await issuer.sign({}, { typ: ['JWT'] }))), 40102)
  })

  test('finds scopes in the claim that it is told, by its map alone', async () => {
    const { issuer, service } = await provided(REALM)
    const scopesOf = async (claims: Readonly<Record<string, unknown>>) => {
      const answer = await self(service, await issuer.sign({ ...claims, scope: 'plants:write' }))
      return answer.status === 200 ? (answer.json as { scopes: string[] }).scopes : errorOf(answer)
    }
    assert.deepEqual(await scopesOf({ realm: { roles: ['Chief', 'Reader', 7] } }), ['plants:read', 'tokens'])
    assert.deepEqual(await scopesOf({ realm: { roles: 'Reader Else' } }), ['plants:read'])
    assert.deepEqual(await scopesOf({ 'realm.roles': 'urn:plants/Chief' }), ['tokens'])
    for (const roles of [undefined, null, 7, {}, [], '', 'reader', 'plants:read', ['Reader Chief'], [['Reader']]]) {
      assert.equal(await scopesOf({ realm: { roles } }), 40301, JSON.stringify(roles))
    }
    for (const realm of ['roles', null, [], { __proto__: { roles: 'Reader' } }]) {
      assert.equal(await scopesOf({ realm }), 40301)
    }
  })

  test('finds the part of a token in the claim that it is told, and gives nothing without one', async () => {
    const { issuer, service } = await provided({ oidcPartClaim: 'garden.beds' })
    const partOf = async (beds: unknown) => {
      const answer = await self(service, await issuer.sign({ garden: { beds } }))
      return answer.status === 200 ? (answer.json as { part?: readonly string[] }).part : errorOf(answer)
    }
    assert.deepEqual(await partOf('greenhouse 1/'), ['greenhouse 1/'])
    assert.deepEqual(await partOf(['a b', 'c/', 'c/d']), ['a b', 'c/'])
    for (const none of [undefined, null, '', [], 7, {}, ['a', null], [['a']], Array.from({ length: 21 }, String)]) {
      assert.equal(await partOf(none), 40301, JSON.stringify(none))
    }
    const jwt = await issuer.sign({ 'garden.beds': 'a/' })
    assert.deepEqual((await createdToken(service, NEW, as(jwt))).part, ['a/'])
    assert.equal(errorOf(await createToken(service, { ...NEW, part: ['b'] }, as(jwt))), 40302)
    assert.equal(errorOf(await service.send('GET', '/metrics', as(jwt))), 40303)
  })

  test('names a person by the first of three claims, cleaned as the names of tokens are', async () => {
    const { issuer, service } = await provided()
    const nameOf = async (claims: Readonly<Record<string, unknown>>) =>
      ((await self(service, await issuer.sign(claims))).json as { name: string }).name
    assert.equal(await nameOf({ preferred_username: 'Anna Å', client_id: 'c', azp: 'a' }), 'Anna Å')
    assert.equal(await nameOf({ preferred_username: 7, client_id: 'c', azp: 'a' }), 'c')
    assert.equal(await nameOf({ preferred_username: '\u202e\n', azp: 'a\u0000\u200bb' }), 'ab')
    assert.equal(await nameOf({ preferred_username: '🌵'.repeat(500) }), '🌵'.repeat(100))
    assert.equal(await nameOf({}), 'anna')
  })

  test('makes no token that is wider or lives longer than the token of the identity provider', async () => {
    const { issuer, service } = await provided()
    const exp = now() + 600
    const jwt = await issuer.sign({ exp, scope: 'tokens plants:read' })
    const made = await createdToken(service, NEW, as(jwt))
    assert.equal(made.expiresAt, new Date(exp * 1000).toISOString())
    const later = { ...NEW, expiresAt: new Date(exp * 1000 + 1000).toISOString() }
    assert.equal(errorOf(await createToken(service, later, as(jwt))), 40302)
    const wider = { ...NEW, scopes: ['plants:write'] }
    assert.equal(errorOf(await createToken(service, wider, as(jwt))), 40302)
    const over = await issuer.sign({ exp: now() - 5, iat: now() - 60 })
    assert.equal(errorOf(await createToken(service, NEW, as(over))), 40103, 'in the leeway, it makes none')
    assert.equal((await service.store.tokens.listTokens()).length, 1)
  })

  test('ends open imports, exports and streams at exp without leeway, and not those of a later token of the subject', async (t) => {
    const issuer = await Issuer.start(t)
    const service = await withMuch(t, issuer.settings)
    const later = openImport(service, await issuer.sign())
    await untilRunning(service, 'import', 1)
    const exp = now() + 5
    const short = await issuer.sign({ exp })
    const open = openImport(service, short)
    const cutOff = unreadExport(service, short)
    const stream = new RawConnection(service.port)
    const accept = `Accept: text/event-stream\r\nAuthorization: Bearer ${short}`
    stream.write(`GET /changes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${accept}\r\n\r\n`)
    await untilRunning(service, 'import', 2)
    await untilRunning(service, 'export', 1)
    await untilRunning(service, 'stream', 1)
    await open.until('HTTP/1.1 401')
    const { error, message } = await outcomeOf(open)
    assert.equal(error, 40103)
    assert.match(message ?? '', /^the access token has expired; (all rows up to line 1 were|no row was) processed/)
    await untilIdle(service, 'export')
    await untilIdle(service, 'stream')
    const late = Date.now() / 1000 - exp
    // Far less than the leeway, also on a busy machine.
    assert.ok(late > 0 && late < 15, `${late} s after exp`)
    await stream.untilClosed()
    cutOff.socket.destroy()
    assert.equal((await self(service, short)).status, 200, 'in the leeway, short requests pass')
    later.write(chunk(rowsFrom(2, 1)) + LAST_CHUNK)
    await later.until('"refused":2')
    later.socket.destroy()
  })

  test('checks the audience, issuer and signature of a token again only after a while', async (t) => {
    const { issuer, service } = await provided()
    const [short, long] = [await issuer.sign(), await issuer.sign({ pad: 'x'.repeat(6000) })]
    for (const jwt of [short, long]) {
      assert.equal((await self(service, jwt)).status, 200)
      for (const last of [jwt.slice(0, -4), `${jwt.slice(0, -4)}AAAA`]) {
        assert.equal(errorOf(await self(service, last)), 40102, 'another signature is another token')
      }
      assert.equal((await self(service, jwt)).status, 200)
    }
    const digest = hashSecret(long).toString('base64')
    for (const authorization of [digest, `Bearer ${digest}`]) {
      assert.equal((await service.send('GET', '/tokens/self', { authorization })).status, 401)
    }
    t.mock.timers.enable({ apis: ['Date'], now: (now() + HOUR + 31) * 1000 })
    for (const jwt of [short, long]) assert.equal(errorOf(await self(service, jwt)), 40103)
  })

  test('names the identity provider in its metadata, and the address of that in every 401', async (t) => {
    const { issuer, service } = await provided({ publicUrl: 'https://plants.example' })
    const path = '/.well-known/oauth-protected-resource'
    const { json, headers } = await service.send('GET', path, { authorization: null })
    assert.deepEqual(json, {
      resource: 'https://plants.example',
      authorization_servers: [issuer.url],
      scopes_supported: [...SCOPES],
      bearer_methods_supported: ['header'],
      resource_name: 'Plantstore',
      resource_documentation: 'https://plants.example/openapi.json',
    })
    assert.equal(headers['cache-control'], 'max-age=60')
    const challengeOf = async (authorization: string | null, of = service) =>
      String((await of.send('GET', '/tokens', { authorization })).headers['www-authenticate'])
    const metadata = `resource_metadata="https://plants.example${path}"`
    assert.equal(await challengeOf(null), `Bearer realm="plantstore", ${metadata}`)
    for (const token of ['x.y.z', 'ps_nonsense', await issuer.sign({ exp: 0, iat: 0 })]) {
      assert.ok((await challengeOf(`Bearer ${token}`)).endsWith(`", ${metadata}`), token)
    }
    assert.doesNotMatch(await challengeOf(`Bearer ${await issuer.sign({ scope: 'plants:read' })}`), /metadata/)
    const near = await withService(t, issuer.settings)
    const { resource } = (await near.send('GET', path)).json as { resource: string }
    assert.equal(resource, `http://127.0.0.1:${near.port}`)
    const without = await withService(t)
    assert.equal(errorOf(await without.send('GET', path)), 40401)
    assert.equal(await challengeOf(null, without), 'Bearer realm="plantstore"')
  })

  test('reads the tokens of its own with one dot, and without a provider any other', async (t) => {
    const { service } = await provided({ token: 'k7Qz-3fV0.pW9~mX' })
    assert.equal((await self(service, 'k7Qz-3fV0.pW9~mX')).status, 200)
    const other = await withService(t, { token: 'k7Qz.3fV0.pW9~mX' })
    assert.equal((await self(other, 'k7Qz.3fV0.pW9~mX')).status, 200)
  })
})

const encoded = (text: string): string => Buffer.from(text).toString('base64url')

/**
 * Makes tokens that a service refuses with 40102 if it takes the type at+jwt alone, by what is wrong with them.
 *
 * @param counter the address of a server that no token may lead to
 */
const JWT_FAULTS: Readonly<Record<string, (issuer: Issuer, counter: string) => Promise<string> | string>> = {
  'no algorithm': (issuer) =>
    new UnsecuredJWT({ scope: 'plants:read' })
      .setIssuer(issuer.url)
      .setAudience(AUDIENCE)
      .setSubject('anna')
      .setIssuedAt()
      .setExpirationTime('1h')
      .encode()
      .concat('AA'),
  'HS256 signed with the public key': async (issuer) => {
    const secret = Buffer.from(await exportSPKI(issuer.keyOf('RS256').publicKey))
    return issuer.sign({}, { alg: 'HS256', kid: issuer.kid('RS256') }, secret)
  },
  'another key under the same kid': async (issuer) => issuer.sign({}, {}, (await generateKeyPair('ES256')).privateKey),
  'the key of another algorithm': (issuer) => issuer.sign({ iat: now() - 600 }, { alg: 'ES384' }),
  'an unknown kid': (issuer) => issuer.sign({ iat: now() - 600, exp: now() + HOUR }, { kid: 'invented' }),
  'the kid of a key of another algorithm': (issuer) =>
    issuer.sign({ iat: now() - 600 }, { alg: 'RS256', kid: issuer.kid('PS256') }),
  'an issuer with a slash more': (issuer) => issuer.sign({ iss: `${issuer.url}/` }),
  'an issuer in an array': (issuer) => issuer.sign({ iss: [issuer.url] }),
  'another audience': (issuer) => issuer.sign({ aud: `${AUDIENCE}2` }),
  'no audience': (issuer) => issuer.sign({ aud: undefined }),
  'no subject': (issuer) => issuer.sign({ sub: undefined }),
  'an empty subject': (issuer) => issuer.sign({ sub: '' }),
  'a subject that is a number': (issuer) => issuer.sign({ sub: 7 }),
  'a subject of 256 characters': (issuer) => issuer.sign({ sub: 'x'.repeat(256) }),
  'a subject with a line feed': (issuer) => issuer.sign({ sub: 'anna\nbert' }),
  'not yet valid': (issuer) => issuer.sign({ nbf: now() + HOUR / 2 }),
  'issued in the future': (issuer) => issuer.sign({ iat: now() + HOUR / 2 }),
  'no time of issue': (issuer) => issuer.sign({ iat: undefined }),
  'a lifetime of 25 h': (issuer) => issuer.sign({ exp: now() + 25 * HOUR }),
  'exp as text': (issuer) => issuer.sign({ exp: String(now() + HOUR) }),
  'exp of 1e300': (issuer) => issuer.sign({ exp: 1e300 }),
  'no exp': (issuer) => issuer.sign({ exp: undefined }),
  'iat of -1e300': (issuer) => issuer.sign({ iat: -1e300 }),
  'ES256 with r = s = 0': async (issuer) => {
    const [header, claims] = (await issuer.sign()).split('.')
    return `${header}.${claims}.${Buffer.alloc(64).toString('base64url')}`
  },
  'a signature in DER': async (issuer) => `${(await issuer.sign()).split('.', 2).join('.')}.MAYCAQECAQE`,
  crit: (issuer) => issuer.sign({}, { crit: ['b64'], b64: true }),
  'an embedded jwk, which has signed it': async (issuer) => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    return issuer.sign({}, { jwk: await exportJWK(publicKey) }, privateKey)
  },
  'a jku to a server that counts': async (issuer, counter) =>
    issuer.sign({}, { jku: counter, x5u: counter }, (await generateKeyPair('ES256')).privateKey),
  'a repeated member of the header': async (issuer) => resigned(issuer, '{"alg":"none",', '{'),
  'a repeated claim': async (issuer) => resigned(issuer, '{', '{"sub":"root",'),
  'claims that are no object': async (issuer) => {
    const [header, , signature] = (await issuer.sign()).split('.')
    return `${header}.${encoded('[]')}.${signature}`
  },
  'claims nested too deep': async (issuer) => {
    const [header, , signature] = (await issuer.sign()).split('.')
    return `${header}.${encoded(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`)}.${signature}`
  },
  'five parts': async (issuer) => `${await issuer.sign()}.AA.AA`,
  'two parts': async (issuer) => (await issuer.sign()).split('.', 2).join('.'),
  'empty parts': () => '..',
  'an ID token': (issuer) => issuer.sign({ nonce: 'n' }, { typ: 'JWT' }),
  'no type': (issuer) => issuer.sign({}, { typ: undefined }),
  'another type': (issuer) => issuer.sign({}, { typ: 'dpop+jwt' }),
  'characters that are not base64url': async (issuer) => (await issuer.sign()).replace(/..$/, '+/'),
  padding: async (issuer) => `${await issuer.sign()}==`,
  'a changed claim': async (issuer) => {
    const [header, claims = '', signature] = (await issuer.sign()).split('.')
    const changed = Buffer.from(claims, 'base64url').toString().replace('anna', 'root')
    return `${header}.${encoded(changed)}.${signature}`
  },
  'almost 16 KiB': async (issuer) =>
    issuer.sign({ pad: 'x'.repeat(11_000) }, {}, (await generateKeyPair('ES256')).privateKey),
}

/** Signs a token of the issuer whose header and claims begin with these texts in place of a brace. */
async function resigned(issuer: Issuer, header: string, claims: string): Promise<string> {
  const parts = (await issuer.sign()).split('.', 2)
  const [head = '', body = ''] = parts.map((part) => Buffer.from(part, 'base64url').toString())
  const signed = `${encoded(head.replace('{', header))}.${encoded(body.replace('{', claims))}`
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(algorithm, issuer.keyOf('ES256').privateKey, Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}
