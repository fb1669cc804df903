import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { SCOPES } from '../../src/domain/token.ts'
import { pagesFrom } from '../support/exchanges.ts'
import { assertRefused, errorOf, SECRET } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { as, type Created, createdToken, createToken, KEY, MANAGER, NEW, revoke, withKey } from '../support/tokens.ts'

suite('a token that is created over HTTP', () => {
  onService('works within its scopes, and only its answer has its secret', { logLevel: 'debug' }, async (service) => {
    const answer = await createToken(service, { ...NEW, expiresAt: '2999-12-31T23:59:59+01:00' })
    const { id, secret, createdAt, ...rest } = answer.json as Created
    assert.deepEqual(rest, { ...NEW, expiresAt: '2999-12-31T22:59:59.000Z' })
    assert.deepEqual([answer.headers['location'], answer.headers['cache-control']], [`/tokens/${id}`, 'no-store'])
    assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000)
    assert.equal((await service.send('GET', '/plants', as(secret))).status, 200)
    assert.equal(errorOf(await service.create({ id: 1, name: 'x' }, as(secret))), 40301)
    const listed = await service.send('GET', '/tokens')
    const [one] = listed.json as Record<string, unknown>[]
    assert.deepEqual({ ...one, lastUsedAt: undefined }, { id, createdAt, ...rest, lastUsedAt: undefined })
    const own = await service.send('GET', '/tokens/self', as(secret))
    const { store, ...self } = own.json as Record<string, unknown>
    assert.deepEqual(self, { id, ...rest })
    assert.match(String(store), /^[0-9a-f]{12}$/)
    for (const text of [listed.body, own.body, service.log, ...service.audited]) assert.ok(!text.includes(secret))
    assert.equal(await service.under.holds(secret), false)
  })

  onService('has at most the scopes and the expiry of the token that creates it', async (service) => {
    const soon = new Date(Date.now() + 3_600_000)
    const { secret } = await service.issueToken(['plants:read', 'tokens'], soon)
    for (const scopes of [['plants:write'], SCOPES, ['tokens', 'plants:write']]) {
      const refused = await createToken(service, { name: 'x', scopes }, as(secret))
      assertRefused(refused, 40302, /which are plants:read, tokens$/)
      assert.match(String(refused.headers['www-authenticate']), /error="insufficient_scope", scope="[a-z: ]+"$/)
    }
    const late = { ...NEW, expiresAt: new Date(soon.getTime() + 1).toISOString() }
    assertRefused(await createToken(service, late, as(secret)), 40302)
    const same = await createdToken(service, { name: 'x', scopes: ['plants:read', 'tokens'] }, as(secret))
    assert.equal(same.expiresAt, soon.toISOString(), 'without expiresAt the token expires with its creator')
    const child = await createdToken(service, { ...NEW, expiresAt: soon.toISOString() }, as(same.secret))
    assert.equal(child.expiresAt, soon.toISOString())
    assert.equal(((await service.send('GET', '/tokens')).json as unknown[]).length, 3)
  })

  onService('has at most the part of the token that creates it, and that part by default', async (service) => {
    const part = ['bed 1', 'greenhouse 1/', 'greenhouse 1/a/', 'bed 1']
    const { secret, ...creator } = await createdToken(service, { ...NEW, scopes: SCOPES, part })
    assert.deepEqual(creator.part, ['bed 1', 'greenhouse 1/'], 'no text that another one has already')
    assert.deepEqual((await createdToken(service, NEW, as(secret))).part, creator.part)
    const sending = { ...withKey(KEY), ...as(secret) }
    const child = { ...MANAGER, part: ['greenhouse 1/b', 'bed 1'] }
    const made = await createdToken(service, child, sending)
    assert.deepEqual(made.part, child.part)
    assert.match(service.audited.at(-1) ?? '', /"part":\["greenhouse 1\/b","bed 1"\]/)
    assert.deepEqual(await createdToken(service, child, sending), made)
    for (const other of [{ ...child, part: ['bed 1'] }, MANAGER]) {
      assert.equal(errorOf(await createToken(service, other, sending)), 40902, 'its key belongs to another part')
    }
    const { json: own } = await service.send('GET', '/tokens/self', as(made.secret))
    assert.deepEqual((own as Created).part, child.part)
    const { json: all } = await service.send('GET', '/tokens')
    assert.deepEqual((all as Created[]).find(({ id }) => id === made.id)?.part, child.part)
    for (const beyond of [['bed 2'], ['greenhouse 1'], ['greenhouse '], ['bed 1', 'greenhouse/'], ['bed 1/']]) {
      const refused = await createToken(service, { ...NEW, part: beyond }, as(secret))
      assertRefused(refused, 40302, /only tokens within its own part/)
    }
  })

  onService('of a part revokes tokens within its part, itself included, and no others', async (service) => {
    const { id, secret } = await createdToken(service, { ...NEW, scopes: SCOPES, part: ['a/'] })
    const other = await createdToken(service, { ...NEW, part: ['a/', 'b'] })
    assertRefused(await revoke(service, other.id, as(secret)), 40302)
    const within = await createdToken(service, { ...NEW, part: ['a/b'] })
    for (const one of [within.id, id]) assert.equal((await revoke(service, one, as(secret))).status, 204)
  })

  onService('is refused with all of its faults if it is invalid, and nothing is created', async (service) => {
    const cases: readonly (readonly [unknown, number, RegExp])[] = [
      ['', 40001, /empty/],
      ['{', 40001, /not valid JSON/],
      ['[]', 40002, /must be an object/],
      ['null', 40002, /must be an object/],
      [{}, 40002, /^name is required; scopes is required$/],
      [{ ...NEW, name: '' }, 40002, /^name must have 1 to 100 characters$/],
      [{ ...NEW, name: 'x'.repeat(101) }, 40002, /1 to 100/],
      [{ ...NEW, name: 'evil\u202ename' }, 40002, /^name must not contain control/],
      [{ ...NEW, name: 7 }, 40002, /^name must be a string$/],
      ...[[], 'tokens', ['constructor'], 'all', ['all'], ['tokens', null], { length: 1, 0: 'tokens' }].map(
        (scopes) =>
          [{ ...NEW, scopes }, 40002, /^scopes must be an array with some of plants:read, plants:write, tok/] as const,
      ),
      ...[null, 'a', [], [''], ['a', 1], ['\0'], ['\ud800'], ['x'.repeat(201)], Array.from({ length: 21 }, String)].map(
        (part) => [{ ...NEW, part }, 40002, /^part must be an array of 1 to 20 texts of 1 to 200 char/] as const,
      ),
      [{ ...NEW, expiresAt: '2020-01-01T00:00:00Z' }, 40002, /^expiresAt must be in the future$/],
      ...[null, 4e12, '2999-02-30T00:00:00Z', '+010000-01-01T00:00:00Z'].map(
        (expiresAt) => [{ ...NEW, expiresAt }, 40002, /^expiresAt must be a date/] as const,
      ),
      [{ ...NEW, expiresAt: '9999-12-31T23:59:59-05:00' }, 40002, /no later than 9999-12-31T23:59:59.999Z$/],
      [{ ...NEW, expires: '90d' }, 40002, /^unknown member expires; this operation has name, scopes, part, expiresAt$/],
      [`{"name":"x","scopes":["tokens"],"__proto__":{}}`, 40002, /^unknown member __proto__;/],
      [`{"name":"x","scopes":["tokens"],"scopes":["tokens"]}`, 40002, /scopes more than once/],
      [`{"name":"\\ud800","scopes":["tokens"]}`, 40002, /^name must not contain/],
      [{ ...NEW, x: SECRET.repeat(2) }, 40002, /^unknown member x;/],
      [{ ...NEW, [SECRET]: 1 }, 40002, /^unknown member; this operation/],
      [JSON.stringify({ ...NEW, x: 'x'.repeat(17_000) }), 41301, /larger than 16384 bytes/],
      [JSON.stringify({ ...NEW, x: 1 }).replace('1}', `${'['.repeat(40)}${']'.repeat(40)}}`), 40001, /nested/],
    ]
    for (const [body, error, says] of cases) {
      const answer = await createToken(service, body)
      assertRefused(answer, error, says)
      assert.ok(!answer.body.includes(SECRET))
    }
    assert.deepEqual((await service.send('GET', '/tokens')).json, [])
  })

  onService('is the same token when the request is repeated with the same key', async (service) => {
    const { secret } = await service.issueToken(SCOPES)
    const sending = { ...withKey(KEY), ...as(secret) }
    const answers = await Promise.all(Array.from({ length: 8 }, () => createdToken(service, NEW, sending)))
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    const { id, secret: made } = answers[0] ?? assert.fail()
    const inQuotes = { ...withKey(`"${KEY}"`), ...as(secret) }
    assert.deepEqual(await createdToken(service, NEW, inQuotes), answers[0])
    assert.equal((await service.send('GET', '/plants', as(made))).status, 200)
    const listed = (await service.send('GET', '/tokens')).json as { id: string }[]
    assert.deepEqual(listed.filter((one) => one.id === id).length, 1)
    assert.equal(listed.length, 2)
    for (const body of [
      { ...NEW, name: 'another' },
      { ...NEW, scopes: ['tokens'] },
      { ...NEW, expiresAt: '2999-12-31T23:59:59Z' },
    ]) {
      assert.equal(errorOf(await createToken(service, body, sending)), 40902)
    }
    const expiring = await createdToken(service, { ...NEW, expiresAt: '2999-12-31T23:59:59Z' }, withKey(KEY))
    const sameMoment = { ...NEW, expiresAt: '3000-01-01T00:59:59+01:00' }
    assert.deepEqual(await createdToken(service, sameMoment, withKey(KEY)), expiring)
    assert.notEqual(expiring.secret, made, 'the same key of another token creates another token')
    assert.equal(errorOf(await createToken(service, NEW, withKey(KEY))), 40902, 'one without an expiry is another one')
    assert.equal((await revoke(service, id)).status, 204)
    assert.equal(errorOf(await createToken(service, NEW, sending)), 40902, 'a revoked token does not come back')
  })

  onService('may have a key of 20 to 64 plain characters', async (service) => {
    for (const key of ['short', 'x'.repeat(65), `${KEY} `.padEnd(40, 'é'), `"${KEY}`, '', `${KEY},${KEY}`]) {
      assertRefused(await createToken(service, NEW, withKey(Buffer.from(key).toString('latin1'))), 40003)
    }
    assert.equal((await createToken(service, NEW, { headers: { 'If-None-Match': '*' } })).status, 400)
  })

  onService('is refused beyond the bound on active tokens until one is revoked', { maxTokens: 3 }, async (service) => {
    const [first] = [
      await createdToken(service, NEW),
      await createdToken(service, NEW),
      await createdToken(service, NEW, withKey(KEY)),
    ]
    assertRefused(await createToken(service, NEW), 40904)
    // A retry does not count towards the bound.
    assert.equal((await createToken(service, NEW, withKey(KEY))).status, 201)
    assert.equal((await revoke(service, first.id)).status, 204)
    assert.equal((await createToken(service, NEW)).status, 201)
  })

  onService('needs an active creator: a token just revoked creates none, even while cached', async (service) => {
    const { secret, token } = await service.issueToken(SCOPES)
    assert.equal((await service.send('GET', '/tokens/self', as(secret))).status, 200)
    await service.store.tokens.revokeToken(token.id)
    assertRefused(await createToken(service, NEW, as(secret)), 40102)
    assert.equal(((await service.send('GET', '/tokens')).json as unknown[]).length, 1)
  })
})

suite('the list of tokens', () => {
  onService('has pages that together have all tokens, oldest first, with cursors of its own', async (service) => {
    const ids: string[] = []
    for (let i = 0; i < 7; i++) ids.push((await createdToken(service, { ...NEW, name: `token ${i}` })).id)
    await revoke(service, ids[2] ?? '')
    for (const limit of [1, 3, 7, 100]) {
      const pages = await pagesFrom(service, `/tokens?limit=${limit}`)
      const listed = pages.flatMap(({ json }) => json as { id: string; name: string; revokedAt?: string }[])
      assert.deepEqual(new Set(listed.map(({ id }) => id)), new Set(ids))
      assert.equal(listed.length, 7)
      for (const one of listed) assert.equal(one.revokedAt !== undefined, one.id === ids[2])
    }
    const tags = await pagesFrom(service, '/tokens?limit=3')
    const cursor = /cursor=([\w-]+)/.exec(String(tags[0]?.headers['link']))?.[1]
    for (const path of [`/tags?cursor=${cursor}`, `/plants?cursor=${cursor}`, `/tokens?cursor=${cursor}x`]) {
      assert.equal(errorOf(await service.send('GET', path)), 40003, path)
    }
    for (const query of ['limit=0', 'limit=-1', 'limit=x', 'q=x', 'sort=id', 'cursor=x']) {
      assert.equal(errorOf(await service.send('GET', `/tokens?${query}`)), 40003, query)
    }
  })
})

suite('the own token', () => {
  onService('may be read with any token, the configured one and those of other scopes included', async (service) => {
    const { store, ...own } = (await service.send('GET', '/tokens/self')).json as Record<string, unknown>
    assert.deepEqual(own, { id: 'configured', name: 'PLANTSTORE_TOKEN', scopes: [...SCOPES] })
    const { secret, token } = await service.issueToken(['plants:write'])
    const answer = await service.send('GET', '/tokens/self', as(secret))
    assert.deepEqual(answer.json, { id: token.id, name: token.name, scopes: ['plants:write'], store })
    assert.equal(errorOf(await service.send('GET', '/tokens/self', as(`${secret}x`))), 40102)
  })
})

suite('a token that is revoked over HTTP', () => {
  onService('must not be the last one with the scope tokens', { token: undefined }, async (service) => {
    const [one, other] = [await service.issueToken(SCOPES), await service.issueToken(['tokens'])]
    await service.issueToken(['tokens'], new Date(1))
    const first = await revoke(service, other.token.id, as(one.secret))
    assert.equal(first.status, 204)
    assertRefused(await revoke(service, one.token.id, as(one.secret)), 40903, /create another one first/)
    const next = await createdToken(service, { name: 'next', scopes: ['tokens'] }, as(one.secret))
    assert.equal((await revoke(service, one.token.id, as(one.secret))).status, 204, 'a token may revoke itself')
    assert.equal(errorOf(await revoke(service, next.id, as(next.secret))), 40903)
  })

  onService('may be the last one with the scope tokens if there is a configured token', async (service) => {
    const { secret, token } = await service.issueToken(SCOPES)
    assert.equal((await revoke(service, token.id, as(secret))).status, 204)
  })

  onService('is 40402 if it is unknown and 40003 if its id is malformed', async (service) => {
    assert.equal(errorOf(await revoke(service, 'tok_00000000000')), 40402)
    for (const id of ['1', 'configured', 'tok_', 'tok_0000000000%00', `tok_${'0'.repeat(500)}`, "tok_0000000000'"]) {
      assert.equal(errorOf(await revoke(service, id)), 40003, id)
    }
  })
})
