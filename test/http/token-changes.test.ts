import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { SCOPES } from '../../src/domain/token.ts'
import { openStream } from '../support/event-stream.ts'
import { boundOf, untilIdle, untilRunning } from '../support/long-work.ts'
import { RawConnection } from '../support/raw.ts'
import { post } from '../support/requests.ts'
import {
  type Answer,
  assertRefused,
  errorOf,
  SECRET,
  type Sending,
  type Service,
  withService,
} from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import {
  as,
  type Created,
  createdToken,
  createToken,
  KEY,
  MANAGER,
  NEW,
  revoke,
  untilRefused,
  withKey,
} from '../support/tokens.ts'
import { until } from '../support/until.ts'

const rotate = (service: Service, id: string, body: unknown, sending?: Sending): Promise<Answer> =>
  service.sendJson('POST', `/tokens/${id}/rotate`, body, sending)

async function rotated(service: Service, id: string, body: unknown, sending?: Sending): Promise<Created> {
  const answer = await rotate(service, id, body, sending)
  assert.equal(answer.status, 201, answer.body)
  return answer.json as Created
}

interface Listed {
  readonly id: string
  readonly expiresAt?: string
}
const listed = async (service: Service) => (await service.send('GET', '/tokens')).json as Listed[]

suite('a rotation over HTTP', () => {
  onEmpty('makes a token with the same rights, and both work until the end of the overlap', async (service) => {
    const old = await createdToken(service, { ...NEW, expiresAt: '2999-12-31T23:59:59Z' })
    const before = Date.now()
    const answer = await rotate(service, old.id, {})
    const { id, secret, createdAt, ...rest } = answer.json as Created
    assert.deepEqual(rest, { ...NEW, expiresAt: old.expiresAt })
    assert.deepEqual([answer.headers['location'], answer.headers['cache-control']], [`/tokens/${id}`, 'no-store'])
    assert.ok(id !== old.id && secret !== old.secret && Date.parse(createdAt) >= before)
    for (const one of [old.secret, secret]) assert.equal((await service.send('GET', '/plants', as(one))).status, 200)
    const end = (await listed(service)).find((one) => one.id === old.id)?.expiresAt ?? ''
    const overlap = Date.parse(end) - 86_400_000
    assert.ok(overlap >= before && overlap <= Date.now(), end)
    await rotated(service, old.id, { overlapSeconds: 604_800 })
    assert.equal((await listed(service)).find((one) => one.id === old.id)?.expiresAt, end, 'no later than before')
    assert.equal(await service.under.holds(secret), false)
    for (const text of [service.log, ...service.audited]) assert.ok(!text.includes(secret))
    const line = service.audited.map((one) => JSON.parse(one) as Record<string, unknown>)
    const about = line.find(({ operation }) => operation === 'rotateToken')
    assert.deepEqual([about?.['outcome'], about?.['rotated'], about?.['created']], ['created', old.id, id])
  })

  onEmpty('without an overlap stops the old secret within a second, for open streams as well', async (service) => {
    const old = await createdToken(service, NEW)
    const stream = await openStream(service, '/changes', { secret: old.secret })
    const { secret } = await rotated(service, old.id, { overlapSeconds: 0 })
    await untilRefused(service, old.secret)
    assert.equal(errorOf(await service.send('GET', '/plants', as(old.secret))), 40103)
    await stream.untilEnded()
    assert.equal((await service.send('GET', '/plants', as(secret))).status, 200)
  })

  onEmpty('takes no body for an empty one, and refuses one of another type', async (service) => {
    const old = await createdToken(service, NEW)
    const bare = await service.send('POST', `/tokens/${old.id}/rotate`)
    assert.equal(bare.status, 201, bare.body)
    const end = (await listed(service)).find((one) => one.id === old.id)?.expiresAt ?? ''
    assert.ok(Math.abs(Date.parse(end) - Date.now() - 86_400_000) < 60_000, end)
    const body = 'overlapSeconds=0'
    assertRefused(await service.send('POST', `/tokens/${old.id}/rotate`, { body }), 41501)
    assert.equal((await listed(service)).find((one) => one.id === old.id)?.expiresAt, end)
  })

  onEmpty('is the same token when it is repeated with the same key, also by the token itself', async (service) => {
    const old = await createdToken(service, MANAGER)
    const sending = { ...withKey(KEY), ...as(old.secret) }
    const answers = await Promise.all(Array.from({ length: 8 }, () => rotated(service, old.id, {}, sending)))
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    const ends = await listed(service)
    assert.deepEqual(await rotated(service, old.id, { overlapSeconds: 60 }, sending), answers[0])
    const expiries = (all: Listed[]) => all.map(({ id, expiresAt }) => [id, expiresAt])
    assert.deepEqual(expiries(await listed(service)), expiries(ends))
    const created = await createdToken(service, MANAGER, sending)
    assert.notEqual(created.id, answers[0]?.id, 'a create with the same key makes another token')
    const other = await rotated(service, created.id, {}, sending)
    assert.ok(other.id !== answers[0]?.id, 'so does the rotation of another token')
    await revoke(service, answers[0]?.id ?? '')
    assert.equal(errorOf(await rotate(service, old.id, {}, sending)), 40902)
  })

  onEmpty('makes no token that is wider or lives longer than the token of the request', async (service) => {
    const soon = new Date(Date.now() + 3_600_000)
    const ofPart = await createdToken(service, { ...MANAGER, part: ['a/'] })
    for (const part of [undefined, ['a/', 'b']]) {
      const { id } = await createdToken(service, { ...MANAGER, part })
      assert.equal(errorOf(await rotate(service, id, {}, as(ofPart.secret))), 40302)
    }
    const { id } = await createdToken(service, { ...MANAGER, part: ['a/b'] })
    assert.deepEqual((await rotated(service, id, {}, as(ofPart.secret))).part, ['a/b'])
    const { secret } = await service.issueToken(['plants:read', 'tokens'], soon)
    const wide = await service.issueToken(SCOPES, soon)
    const long = await service.issueToken(['plants:read'])
    const before = await listed(service)
    for (const { token } of [wide, long]) {
      const refused = await rotate(service, token.id, { overlapSeconds: 0 }, as(secret))
      assertRefused(refused, 40302)
      assert.match(String(refused.headers['www-authenticate']), /error="insufficient_scope"/)
    }
    const ends = (all: Listed[]) => all.map(({ id, expiresAt }) => [id, expiresAt])
    assert.deepEqual(ends(await listed(service)), ends(before))
    const reader = await service.issueToken(['plants:read'], soon)
    assert.equal((await rotated(service, reader.token.id, {}, as(secret))).expiresAt, soon.toISOString())
    assert.equal(errorOf(await rotate(service, reader.token.id, {}, as(reader.secret))), 40301)
  })

  onEmpty('is refused for an unknown or ended token, and for a bad body, and changes nothing', async (service) => {
    const [one, gone] = [await createdToken(service, NEW), await createdToken(service, NEW)]
    await revoke(service, gone.id)
    const expired = await service.issueToken(['plants:read'], new Date(1))
    const before = (await service.send('GET', '/tokens')).body
    for (const id of ['tok_00000000000', gone.id, expired.token.id]) {
      assertRefused(await rotate(service, id, {}), 40402)
    }
    for (const id of ['configured', '1', 'tok_']) assert.equal(errorOf(await rotate(service, id, {})), 40003, id)
    for (const value of [-1, 604_801, 0.5, '60', null, 1e300, [], true]) {
      const message = 'overlapSeconds must be an integer from 0 to 604800'
      assertRefused(await rotate(service, one.id, { overlapSeconds: value }), 40002, message)
    }
    for (const [body, error] of [
      ['', 40001],
      ['[]', 40002],
      [{ overlap: 1 }, 40002],
      ['{"overlapSeconds":0,"overlapSeconds":1}', 40002],
      [`{"overlapSeconds":0${' '.repeat(17_000)}}`, 41301],
    ] as const) {
      assert.equal(errorOf(await rotate(service, one.id, body)), error, JSON.stringify(body).slice(0, 50))
    }
    assert.equal(errorOf(await rotate(service, one.id, {}, withKey('short'))), 40003)
    assert.equal((await service.send('GET', '/tokens')).body, before)
  })
})

suite('changes of tokens', () => {
  test('wait in turns and within bounds while the store is busy, and leave with their clients', async (t) => {
    const service = await withService(t, { changeQueue: 4, changeQueuePerToken: 2 })
    const others = [await service.issueToken(['tokens']), await service.issueToken(['tokens'])]
    const unlock = await service.under.lock()
    const body = JSON.stringify(MANAGER)
    const creation = post(body, `Content-Length: ${body.length}`).replace('/plants', '/tokens')
    const send = (secret: string) => new RawConnection(service.port, creation.replace(SECRET, secret))
    const waiting = (count: number) =>
      until(async () => (await boundOf(service, 'change-queue')) === count, `${count} changes do not wait`)
    const running = send(SECRET)
    await untilRunning(service, 'change', 1)
    const queued = [send(SECRET), send(SECRET)]
    await waiting(2)
    assert.equal(errorOf(await createToken(service, MANAGER)), 42901)
    queued.push(...others.map(({ secret }) => send(secret)))
    await waiting(4)
    assert.equal(errorOf(await createToken(service, MANAGER, as(others[0]?.secret ?? ''))), 50302)
    for (const connection of queued) connection.socket.destroy()
    await waiting(0)
    await unlock()
    await running.until('"secret":"ps_')
    running.socket.destroy()
    await untilIdle(service, 'change')
    assert.equal(((await service.send('GET', '/tokens')).json as unknown[]).length, 3)
  })
})
