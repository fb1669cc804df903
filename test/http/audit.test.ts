import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { AppError } from '../../src/domain/errors.ts'
import { AuditLog } from '../../src/http/answer/audit-log.ts'
import { TESTER } from '../support/actor.ts'
import { standingTime } from '../support/clock.ts'
import { contract } from '../support/conforms.ts'
import { untilStored } from '../support/import.ts'
import { openImport, untilIdle } from '../support/long-work.ts'
import { pluck } from '../support/pluck.ts'
import { SECRET, type Service } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'
import { as, createdToken, NEW, revoke } from '../support/tokens.ts'

type Line = Readonly<Record<string, unknown>>

const linesOf = (service: Service, from = 0): Line[] =>
  service.audited.slice(from).map((line) => JSON.parse(line) as Line)

/** Leaves out members that differ in each run. */
const known = ({ time: _time, req: _req, level: _level, msg: _msg, ...rest }: Line): Line => rest

const ME = { token: 'configured', tokenName: 'PLANTSTORE_TOKEN', address: '127.0.0.1' }

suite('the audit log', () => {
  onEmpty('has a line about each change: operation, plant, outcome, actor, address and request', async (service) => {
    const plant = { id: 17, name: 'Monstera', tag: 'shade' }
    const big = '9007199254740993'
    await service.create(plant, { headers: { 'X-Request-Id': 'mine' } })
    await service.create(plant)
    await service.create({ ...plant, name: 'Ficus' })
    await service.create('{"id":9007199254740993}')
    await service.sendJson('PUT', `/plants/${big}`, { name: 'Ficus' })
    await service.sendJson('PUT', `/plants/${big}`, { name: 'Fern' })
    await service.sendJson('PUT', `/plants/${big}`, { name: 'Fern' }, { headers: { 'If-None-Match': '*' } })
    await service.sendJson('PATCH', `/plants/${big}`, { tag: 'shade' })
    await service.send('DELETE', `/plants/${big}`)
    await service.send('DELETE', `/plants/${big}`)
    const expected = [
      { operation: 'createPlant', outcome: 'created', plant: '17' },
      { operation: 'createPlant', outcome: 'unchanged', plant: '17' },
      { operation: 'createPlant', outcome: 'refused', plant: '17', error: 40901 },
      { operation: 'createPlant', outcome: 'refused', error: 40002 },
      { operation: 'replacePlant', outcome: 'created', plant: big },
      { operation: 'replacePlant', outcome: 'replaced', plant: big },
      { operation: 'replacePlant', outcome: 'refused', plant: big, error: 41201 },
      { operation: 'updatePlant', outcome: 'updated', plant: big },
      { operation: 'deletePlant', outcome: 'deleted', plant: big },
      { operation: 'deletePlant', outcome: 'refused', plant: big, error: 40402 },
    ]
    const lines = linesOf(service)
    const wanted = expected.map((line) => ({ ...line, ...ME }))
    assert.deepEqual(lines.map(known), wanted)
    assert.equal(lines[0]?.['req'], 'mine')
    for (const { time, level, msg, req } of lines) {
      assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 3_600_000)
      assert.deepEqual([level, msg, typeof req], [30, 'audit', 'string'])
    }
    for (const secret of ['Monstera', 'Ficus', 'Fern', 'shade', SECRET]) {
      assert.ok(!service.audited.join().includes(secret), secret)
    }
  })

  test('has the address and the actor of each line, also where one of them is as before', () => {
    const lines: string[] = []
    const log = new AuditLog({ write: (line) => lines.push(line) })
    const other = { id: 'tok_other', name: 'another' }
    const uses = [
      [TESTER, '192.0.2.1'],
      [TESTER, '192.0.2.2'],
      [other, '192.0.2.2'],
      [TESTER, '192.0.2.2'],
    ] as const
    for (const [actor, address] of uses) log.write({ operation: 'createPlant', outcome: 'created', actor, address })
    const seen = lines.map((line) => JSON.parse(line) as { token: string; address: string })
    const expected = uses.map(([{ id }, address]) => [id, address])
    assert.deepEqual(pluck(seen, 'token', 'address'), expected)
  })

  onEmpty('has a line at the start of an import, and a line with its counts at the end', async (service) => {
    const rows = '{"id":1,"name":"a"}\n{"id":1,"name":"b"}\n{"id":2,"name":"c"}\nx\n'
    const { headers } = await service.importFile(rows)
    await service.importFile(rows, { query: '?mode=update&dryRun=true' })
    const none = { added: 0, updated: 0, unchanged: 0, refused: 0 }
    const real = { operation: 'importPlants', mode: 'add', dryRun: false, ...ME }
    const dry = { operation: 'importPlants', mode: 'update', dryRun: true, ...ME }
    const lines = linesOf(service)
    assert.deepEqual(lines.map(known), [
      { ...real, outcome: 'began', ...none },
      { ...real, outcome: 'imported', ...none, added: 2, refused: 2 },
      { ...dry, outcome: 'began', ...none },
      { ...dry, outcome: 'imported', ...none, updated: 1, unchanged: 2, refused: 1 },
    ])
    assert.deepEqual([lines[0]?.['req'], lines[1]?.['req']], [headers['x-request-id'], headers['x-request-id']])
  })

  onEmpty('has the counts of an import whose client leaves or whose token is revoked', async (service) => {
    const counts = { mode: 'add', dryRun: false, added: 1, updated: 0, unchanged: 0, refused: 0 }
    const line = { operation: 'importPlants', outcome: 'broken off', ...counts, address: '127.0.0.1' }
    const left = openImport(service, SECRET)
    await untilStored(service, 1)
    left.socket.destroy()
    await untilIdle(service, 'import')
    assert.deepEqual(known(linesOf(service)[1] ?? {}), { ...line, ...ME })

    await service.send('DELETE', '/plants/1')
    const before = service.audited.length
    const { secret, token } = await service.issueToken(['plants:write'])
    const revoked = openImport(service, secret)
    await untilStored(service, 1)
    await service.store.tokens.revokeToken(token.id)
    await revoked.until('HTTP/1.1 401')
    const who = { token: token.id, tokenName: token.name }
    assert.deepEqual(known(linesOf(service, before)[1] ?? {}), { ...line, error: 40102, ...who })
    revoked.socket.destroy()
  })

  onEmpty('has a line about each created or revoked token, and about each reservation of ids', async (service) => {
    const { secret, ...token } = await createdToken(service, { ...NEW, expiresAt: '2999-12-31T23:59:59Z' })
    await revoke(service, token.id)
    await revoke(service, token.id)
    await revoke(service, secret)
    await service.sendJson('POST', '/ids', { count: 3 })
    const about = { created: token.id, createdName: NEW.name, scopes: NEW.scopes, expiresAt: token.expiresAt }
    assert.deepEqual(linesOf(service).map(known), [
      { operation: 'createToken', outcome: 'created', ...about, ...ME },
      { operation: 'revokeToken', outcome: 'revoked', revoked: token.id, ...ME },
      { operation: 'revokeToken', outcome: 'unchanged', revoked: token.id, ...ME },
      { operation: 'revokeToken', outcome: 'refused', error: 40003, ...ME },
      { operation: 'reserveIds', outcome: 'reserved', first: '1', last: '3', ...ME },
    ])
    assert.ok(!service.audited.join().includes(secret))
    const listed = (await service.send('GET', '/tokens')).json as { id: string; revokedAt?: string }[]
    assert.ok(listed.find(({ id }) => id === token.id)?.revokedAt !== undefined)
  })

  onEmpty('is valid JSON whatever the name of a token', async (service) => {
    const name = 'a "label" \\ printer, {"level":60}'
    const { id, secret } = await createdToken(service, { name, scopes: ['plants:write'] })
    await service.create({ id: 1, name: 'x' }, as(secret))
    const [created, used] = linesOf(service)
    assert.deepEqual([created?.['createdName'], used?.['tokenName'], used?.['token']], [name, name, id])
  })

  onService('has an outcome for each operation that changes something', async (service) => {
    const changes = contract.operations.filter(({ method, scopes }) => method !== 'GET' && scopes !== undefined)
    for (const { method, path, id } of changes) {
      const before = service.audited.length
      const text = id === 'importPlants' ? 'x' : '{'
      const type = id === 'importPlants' ? 'application/x-ndjson' : 'application/json'
      const hasBody = method !== 'DELETE'
      await service.send(method, path.replace('{id}', '1'), {
        ...(hasBody ? { headers: { 'Content-Type': type }, body: text } : {}),
      })
      const lines = linesOf(service, before)
      assert.ok(lines.length > 0, id)
      for (const line of lines) assert.deepEqual([line['operation'], line['outcome'] === 'done'], [id, false])
    }
  })

  onEmpty('has at most one line a minute per address about uses of a revoked token', async (service) => {
    const { secret, id, name } = await createdToken(service, { ...NEW, scopes: ['plants:read', 'plants:write'] })
    await revoke(service, id)
    const before = service.audited.length
    const refused = await service.send('GET', '/plants', as(secret))
    assert.equal(refused.status, 401)
    for (let i = 0; i < 3; i++) await service.create({ id: 1, name: 'x' }, as(secret))
    const line = { operation: 'useRevokedToken', outcome: 'refused', token: id, tokenName: name, address: '127.0.0.1' }
    assert.deepEqual(linesOf(service, before).map(known), [line])
    assert.equal(linesOf(service, before)[0]?.['req'], refused.headers['x-request-id'])
  })

  onEmpty('has one line a minute about refusals of an operation to a token, and counts others', async (service, t) => {
    const { secret, id, name } = await createdToken(service, { ...NEW, scopes: ['plants:read'] })
    const other = await createdToken(service, { ...NEW, name: 'another', scopes: ['plants:write'] })
    const before = service.audited.length
    for (let i = 0; i < 20; i++) {
      const { status } = await service.create(
        { id: i, name: 'x' },
        { ...as(secret), headers: { 'X-Request-Id': `${i}` } },
      )
      assert.equal(status, 403)
    }
    await service.send('DELETE', '/plants/1', as(secret))
    await service.send('DELETE', '/plants/1', as(other.secret))
    await service.send('DELETE', '/plants/one', as(other.secret))
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + 60_000)
    await service.create({ id: 1, name: 'x' }, as(secret))
    const who = { outcome: 'refused', token: id, tokenName: name, address: '127.0.0.1' }
    const writer = { ...who, token: other.id, tokenName: 'another' }
    const lines = linesOf(service, before)
    assert.deepEqual(lines.map(known), [
      { operation: 'createPlant', error: 40301, ...who },
      { operation: 'deletePlant', error: 40301, ...who },
      { operation: 'deletePlant', error: 40402, plant: '1', ...writer },
      { operation: 'deletePlant', error: 40003, ...writer },
      { operation: 'createPlant', error: 40301, omitted: 19, ...who },
    ])
    assert.equal(lines[0]?.['req'], '0')
  })

  onEmpty('has no lines of reads, unknown clients and refusals under load', { rateLimit: '1' }, async (service, t) => {
    standingTime(t)
    const { secret } = await service.issueToken(['plants:read', 'plants:write'])
    await service.send('GET', '/plants/1', as(secret))
    assert.equal((await service.create({ id: 1, name: 'x' }, as(secret))).status, 429)
    await service.create({ id: 1, name: 'x' }, { authorization: null })
    await service.create({ id: 1, name: 'x' }, as('ps_unknown'))
    assert.deepEqual(service.audited, [])
  })

  onEmpty('says that a change may have happened if the store was out of reach', async (service, t) => {
    const failing = () => Promise.reject(new AppError(50301, 'the store is out of reach'))
    t.mock.method(service.store, 'createPlant', failing)
    t.mock.method(service.store, 'changePlant', () => Promise.reject(new Error('a fault')))
    await service.create({ id: 5, name: 'x' })
    await service.send('DELETE', '/plants/5')
    assert.deepEqual(linesOf(service).map(known), [
      { operation: 'createPlant', outcome: 'unknown', plant: '5', error: 50301, ...ME },
      { operation: 'deletePlant', outcome: 'unknown', plant: '5', error: 50001, ...ME },
    ])
  })
})
