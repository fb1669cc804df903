import assert from 'node:assert/strict'
import { hashSecret, makeSecret, makeTokenId, type Rotation, SCOPES, type Token } from '../src/domain/token.ts'
import type { Suite } from './support/store-under-test.ts'

/** A token as `plantstore token create` makes it, with the given members. */
export const token = (name: string, more: Partial<Token> = {}): Token => ({
  id: makeTokenId(),
  name,
  scopes: ['plants:read', 'plants:write'],
  part: undefined,
  createdAt: new Date('2026-01-02T03:04:05.678Z'),
  expiresAt: undefined,
  lastUsedAt: undefined,
  revokedAt: undefined,
  ...more,
})

/** The specification of TokenStore. */
export function tokenTests(suite: Suite): void {
  suite('a look-up finds a token only by the hash of its own secret', async ({ store, reopen }) => {
    const secret = makeSecret()
    const part = ['greenhouse 1/', '"bed" 🌿 [2]']
    const kew = token('Kew app 🌿', { scopes: SCOPES, part, expiresAt: new Date('2099-12-31T23:59:59.999Z') })
    await store.tokens.createToken(kew, hashSecret(secret))
    assert.deepEqual(await store.tokens.findToken(hashSecret(secret)), kew)
    assert.equal(await store.tokens.findToken(hashSecret(makeSecret())), undefined)
    assert.deepEqual(await (await reopen()).tokens.findToken(hashSecret(secret)), kew)
  })

  suite('a look-up finds an expired token too', async ({ store }) => {
    const expired = token('old', { expiresAt: new Date(0) })
    await store.tokens.createToken(expired, hashSecret('old'))
    assert.deepEqual(await store.tokens.findToken(hashSecret('old')), expired)
  })

  suite('a list of tokens begins with the oldest', async ({ store }) => {
    assert.deepEqual(await store.tokens.listTokens(), [])
    const [late, early, middle] = [3, 1, 2].map((n) => token(`number ${n}`, { createdAt: new Date(n) }))
    assert.ok(late && early && middle)
    for (const one of [late, early, middle]) await store.tokens.createToken(one, hashSecret(one.id))
    assert.deepEqual(await store.tokens.listTokens(), [early, middle, late])
  })

  suite('an export of tokens contains each token with its hash', async ({ store }) => {
    const expiring = token('expiring', { expiresAt: new Date(2_000_000_000_000), scopes: ['tokens'], part: ['a/'] })
    for (const one of [expiring, token('other')]) await store.tokens.createToken(one, hashSecret(one.name))
    const kept = await store.tokens.exportTokens()
    assert.deepEqual(new Set(kept.map(({ token }) => token.name)), new Set(['expiring', 'other']))
    for (const { token, hash } of kept) assert.deepEqual(hash, hashSecret(token.name))
    assert.deepEqual(kept.find(({ token }) => token.id === expiring.id)?.token, expiring)
  })

  suite('the store records the last use of a token, and ignores that of an unknown token', async ({ store }) => {
    const used = token('used')
    await store.tokens.createToken(used, hashSecret('used'))
    await store.tokens.touchToken(used.id, new Date(1_700_000_000_123))
    await store.tokens.touchToken('tok_unknown', new Date())
    assert.deepEqual(await store.tokens.listTokens(), [{ ...used, lastUsedAt: new Date(1_700_000_000_123) }])
  })

  suite('copying a token keeps its times', async ({ store }) => {
    const [createdAt, expiresAt, lastUsedAt, revokedAt] = [1, 2, 3, 4].map((n) => new Date(n * 1e12 + n))
    assert.ok(createdAt)
    const copied = token('copied', { part: ['a'], createdAt, expiresAt, lastUsedAt, revokedAt })
    await store.tokens.createToken(copied, hashSecret('copied'))
    assert.deepEqual(await store.tokens.exportTokens(), [{ token: copied, hash: hashSecret('copied') }])
    assert.deepEqual(await store.tokens.findToken(hashSecret('copied')), copied)
  })

  suite('a revoked token stays listed as revoked, and revoking it again returns false', async ({ store, reopen }) => {
    const [going, staying] = [token('going'), token('staying', { createdAt: new Date() })]
    const before = Date.now()
    for (const one of [going, staying]) await store.tokens.createToken(one, hashSecret(one.name))
    assert.equal(await store.tokens.revokeToken(going.id), 'revoked')
    assert.equal(await store.tokens.revokeToken(going.id), 'revoked before')
    const found = await store.tokens.findToken(hashSecret('going'))
    assert.deepEqual({ ...found, revokedAt: undefined }, going)
    assert.equal(await store.tokens.revokeToken('tok_unknown'), 'absent')
    const [revoked, other] = await (await reopen()).tokens.listTokens()
    assert.deepEqual([{ ...revoked, revokedAt: undefined }, other], [going, staying])
    const revokedAt = revoked?.revokedAt?.getTime() ?? Number.NaN
    assert.ok(revokedAt >= before && revokedAt <= Date.now())
    assert.deepEqual(found?.revokedAt, revoked?.revokedAt)
  })

  suite('pages of tokens together have each token once, even tokens of one moment', async ({ store }) => {
    const all = [1, 1, 1, 2, 0].map((n) => token('x', { createdAt: new Date(n) }))
    for (const one of all) await store.tokens.createToken(one, hashSecret(one.id))
    const listed = await store.tokens.listTokens()
    for (const limit of [1, 2, 3, 5, 6]) {
      const pages: Token[] = []
      for (;;) {
        const page = await store.tokens.listTokens({ after: pages.at(-1), limit })
        assert.ok(page.length <= limit)
        pages.push(...page)
        if (page.length < limit) break
      }
      assert.deepEqual(pages, listed)
    }
  })

  suite('an active token issues each token once, within the bound on active tokens', async ({ store }) => {
    const { tokens } = store
    const now = new Date(1_800_000_000_000)
    const creator = token('creator', { createdAt: now })
    const [expired, revoked] = [new Date(now.getTime() - 1), new Date(now.getTime() - 2)]
    for (const one of [creator, token('a', { expiresAt: expired }), token('b', { revokedAt: revoked })]) {
      await tokens.createToken(one, hashSecret(one.name))
    }
    const issue = (one: Token, by: string | undefined = creator.id) =>
      tokens.issueToken(one, hashSecret(one.id), { creator: by, max: 3, maxEnded: 9 })
    const [first, second, third] = ['1', '2', '3'].map((name) => token(name, { createdAt: now }))
    assert.ok(first && second && third)
    assert.deepEqual(await issue(first), first)
    assert.deepEqual(await issue({ ...first, createdAt: new Date() }), first, 'a retry')
    assert.equal(await issue({ ...first, name: 'another' }), 'other content')
    assert.deepEqual(await issue(second, undefined), second)
    assert.equal(await issue(third), 'too many')
    assert.deepEqual(await issue(second), second, 'an existing token does not exceed the bound')
    await tokens.revokeToken(second.id)
    assert.deepEqual(await issue(third), third)
    await tokens.revokeToken(creator.id)
    for (const by of [creator.id, 'tok_unknown']) assert.equal(await issue(token('4'), by), 'creator revoked')
    assert.equal((await tokens.listTokens()).length, 6)
  })

  suite('an expired token issues no token', async ({ store }) => {
    const creator = token('creator', { expiresAt: new Date(2_000_000_000_000) })
    await store.tokens.createToken(creator, hashSecret('creator'))
    const issued = token('late', { createdAt: new Date(2_000_000_000_000) })
    const bounds = { creator: creator.id, max: 9, maxEnded: 9 }
    const result = await store.tokens.issueToken(issued, hashSecret('late'), bounds)
    assert.equal(result, 'creator revoked')
  })

  suite('no new token outlives its creator, whose time a rotation has shortened since', async ({ store }) => {
    const { tokens } = store
    const creator = token('creator', { expiresAt: new Date(2_000_000_000_000) })
    const lasting = token('lasting')
    for (const one of [creator, lasting]) await tokens.createToken(one, hashSecret(one.name))
    const bounds = { creator: creator.id, max: 9, maxEnded: 9 }
    for (const [asked, given] of [
      [undefined, 2_000_000_000_000],
      [2_000_000_000_001, 2_000_000_000_000],
      [1_999_999_999_999, 1_999_999_999_999],
    ] as const) {
      const wanted = token('new', { expiresAt: asked === undefined ? undefined : new Date(asked) })
      const expected = { ...wanted, expiresAt: new Date(given) }
      for (const moment of ['first', 'again'])
        assert.deepEqual(await tokens.issueToken(wanted, hashSecret(wanted.id), bounds), expected, moment)
    }
    const rotates = { id: lasting.id, until: 1_950_000_000_000, scopes: SCOPES, expiresAt: Infinity }
    const result = await tokens.issueToken(token('x'), hashSecret('x'), { ...bounds, rotates })
    assert.equal(result, 'too strong')
  })

  suite('new tokens replace revoked and expired tokens beyond the bound, those that ended first', async ({ store }) => {
    const { tokens } = store
    const now = 1_800_000_000_000
    const listed = async () => (await tokens.listTokens()).map(({ name }) => name)
    const issue = (name: string, createdAt: number, more: Partial<Token> = {}) =>
      tokens.issueToken(token(name, { createdAt: new Date(createdAt), ...more }), hashSecret(name), {
        creator: undefined,
        max: 9,
        maxEnded: 20,
      })
    for (let i = 0; i < 20; i++) {
      const end = new Date(now + 100 - i)
      const ended = i % 2 === 0 ? { revokedAt: end } : { expiresAt: end }
      await tokens.createToken(
        token(`ended ${i}`, { createdAt: new Date(now + i), ...ended }),
        hashSecret(`ended ${i}`),
      )
    }
    // This token is active at that time, so it does not count as ended.
    const lasting = token('lasting', { createdAt: new Date(now + 20), expiresAt: new Date(now + 300) })
    await tokens.createToken(lasting, hashSecret('lasting'))
    await issue('one', now + 200)
    assert.equal((await listed()).length, 22, 'the bound of listed tokens remains')
    await issue('two', now + 301)
    // One token exceeds the bound; with it the store removes a tenth of the bound. 19, 18 and 17 ended first.
    const rest = Array.from({ length: 17 }, (_, i) => `ended ${i}`)
    assert.deepEqual(await listed(), [...rest, 'lasting', 'one', 'two'])
    assert.deepEqual(await tokens.findToken(hashSecret('one')), (await tokens.listTokens()).at(-2))
  })

  suite('revoking spares the last active token with the scope tokens, even all at once', async ({ store }) => {
    const { tokens } = store
    const more = { scopes: ['tokens'] } as const
    const managers = [1, 2, 3, 4].map((n) => token(`manager ${n}`, more))
    const others = [
      token('expired', { ...more, expiresAt: new Date(1) }),
      token('reader', { scopes: ['plants:read'] }),
      token('of a part', { ...more, part: ['a/'] }),
    ]
    for (const one of [...managers, ...others]) await tokens.createToken(one, hashSecret(one.name))
    const results = await Promise.all(managers.map(({ id }) => tokens.revokeToken(id, true)))
    assert.deepEqual(results.toSorted(), ['last', 'revoked', 'revoked', 'revoked'])
    for (const { id } of managers) assert.equal(await tokens.revokeToken(id, true, ['a/']), 'too strong')
    assert.equal(await tokens.revokeToken(others.at(-1)?.id ?? '', true, ['a/b']), 'too strong')
    for (const { id } of others) assert.equal(await tokens.revokeToken(id, true), 'revoked')
    const last = managers[results.indexOf('last')]?.id ?? assert.fail()
    assert.equal(await tokens.revokeToken(last, true), 'last')
    assert.equal(await tokens.revokeToken(last), 'revoked')
  })

  suite('a rotation makes one token of the same rights, and ends the old one earlier', async ({ store, reopen }) => {
    const { tokens } = store
    const now = 1_800_000_000_000
    const part = ['a/', 'b']
    const old = token('old', { part, createdAt: new Date(now - 2), expiresAt: new Date(now + 100) })
    const lasting = token('lasting', { createdAt: new Date(now - 1) })
    for (const one of [old, lasting]) await tokens.createToken(one, hashSecret(one.name))
    const empty = (createdAt: number) => token('x', { scopes: [], createdAt: new Date(createdAt) })
    const rotate = (one: Token, id: string, until: number, max = 9, more: Partial<Rotation> = {}, creator?: string) => {
      const rotates = { id, until, scopes: SCOPES, expiresAt: Infinity, ...more }
      return tokens.issueToken(one, hashSecret(one.id), { creator, max, maxEnded: 9, rotates })
    }
    for (const [more, result] of [
      [{ scopes: ['plants:read', 'tokens'] }, 'too strong'],
      [{ expiresAt: now + 99 }, 'too strong'],
      [{ part: ['a/', 'b/'] }, 'too strong'],
      [{ id: 'tok_unknown' }, 'absent'],
    ] as const) {
      assert.equal(await rotate(empty(now), old.id, now, 9, more), result)
    }
    assert.equal(await rotate(empty(now), lasting.id, now, 9, { expiresAt: 8e15 }), 'too strong', 'it never expires')
    assert.equal(await rotate(empty(now), lasting.id, now + 1, 2), 'too many')
    assert.deepEqual(await tokens.listTokens(), [old, lasting])
    const [first, second] = [empty(now), empty(now + 1)]
    const same = { name: 'lasting', scopes: lasting.scopes, expiresAt: undefined }
    assert.deepEqual(await rotate(first, lasting.id, now + 50), { ...first, ...same })
    assert.deepEqual(await rotate(first, lasting.id, now + 20), { ...first, ...same }, 'a retry changes nothing')
    const found = async (name: string) => (await tokens.findToken(hashSecret(name)))?.expiresAt?.getTime()
    assert.equal(await found('lasting'), now + 50)
    assert.equal(await rotate(empty(now + 50), lasting.id, now + 60), 'absent', 'it has expired')
    const rights = { name: 'old', scopes: old.scopes, part, expiresAt: old.expiresAt }
    assert.deepEqual(await rotate(second, old.id, now + 200, 9, { part: ['b', 'a/'] }), { ...second, ...rights })
    assert.equal(await found('old'), now + 100, 'it expires no later than before')
    const third = empty(now + 2)
    assert.deepEqual(
      await rotate(third, old.id, now + 2, 4),
      { ...third, ...rights },
      'it takes the place of the old one',
    )
    assert.equal(await rotate(empty(now + 3), first.id, now + 9, 9, {}, old.id), 'creator revoked')
    assert.equal((await (await reopen()).tokens.listTokens()).length, 5)
  })

  suite('tokens that rotate each other at once do not wait for each other, and one key makes one token', async ({
    store,
  }) => {
    const { tokens } = store
    const [one, other] = [token('one'), token('other')]
    for (const each of [one, other]) await tokens.createToken(each, hashSecret(each.name))
    const now = Date.now()
    const issued = token('x', { createdAt: new Date(now) })
    const rotate = (made: Token, creator: string, id: string) => {
      const rotates = { id, until: now + 60_000, scopes: SCOPES, expiresAt: Infinity }
      return tokens.issueToken(made, hashSecret(made.id), { creator, max: 99, maxEnded: 9, rotates })
    }
    const made = () => token('x', { createdAt: new Date(now) })
    const results = await Promise.all(
      Array.from({ length: 5 }, () => [
        rotate(made(), one.id, other.id),
        rotate(made(), other.id, one.id),
        rotate(issued, one.id, one.id),
      ]).flat(),
    )
    const refused = results.filter((result) => typeof result === 'string')
    // The one that has an end first can't rotate the other, which has none yet.
    assert.deepEqual(new Set(refused), new Set(refused.length > 0 ? ['too strong'] : []))
    const ids = new Set(results.map((result) => typeof result !== 'string' && result.id))
    assert.ok(ids.has(issued.id))
    assert.equal((await tokens.listTokens()).length, 2 + ids.size - (refused.length > 0 ? 1 : 0))
  })

  suite('a rotation and a revocation of a token at once both end, in either order', async ({ store }) => {
    const { tokens } = store
    const manager = token('manager', { id: 'tok_55555555555', scopes: ['tokens', 'plants:read'] })
    const spare = token('spare', { scopes: ['tokens'] })
    for (const each of [manager, spare]) await tokens.createToken(each, hashSecret(each.name))
    const now = Date.now()
    // Ids on both sides of the manager's: locks in two orders would wait for each other.
    const ids = Array.from({ length: 20 }, (_, i) => `tok_${i % 2 === 0 ? 1 : 9}${String(i).padStart(10, '0')}`)
    for (const id of ids) await tokens.createToken(token('x', { id, scopes: ['plants:read'] }), hashSecret(id))
    const rounds = ids.map(async (id) => {
      const made = token('x', { createdAt: new Date(now) })
      const rotates = { id, until: now + 60_000, scopes: SCOPES, expiresAt: Infinity }
      const [rotated, revoked] = await Promise.all([
        tokens.issueToken(made, hashSecret(made.id), { creator: manager.id, max: 99, maxEnded: 9, rotates }),
        tokens.revokeToken(id, true),
      ])
      assert.equal(revoked, 'revoked')
      assert.ok(
        rotated === 'absent' || (typeof rotated !== 'string' && rotated.revokedAt === undefined),
        String(rotated),
      )
      return rotated
    })
    const made = (await Promise.all(rounds)).filter((result) => result !== 'absent')
    const active = (await tokens.listTokens()).filter(({ revokedAt }) => revokedAt === undefined)
    assert.equal(active.length, 2 + made.length)
  })
}
