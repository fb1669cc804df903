import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { exactId, parseExact, withId } from '../../client/src/exact-json.ts'
import { PlantstoreClient, PlantstoreError } from '../../client/src/index.ts'
import { MAX_ID, MIN_ID } from '../../src/domain/plant.ts'
import { contract } from '../support/conforms.ts'
import { pluck } from '../support/pluck.ts'
import { anyCharacter, holds } from '../support/property.ts'
import { emptyService, withService } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { all, clientOf, urlOf } from './support.ts'

const EDGE = 2n ** 53n
const IDS = [MIN_ID, -EDGE - 1n, -1n, 0n, 1n, EDGE, EDGE + 1n, MAX_ID]

/** A check for `assert.rejects`: whether the error is a refusal with this number. */
const refusal = (number: number) => ({ name: 'PlantstoreError', number })

suite('the client', () => {
  test('has a method for every operation of the contract except pages', () => {
    const methods = Object.getOwnPropertyNames(PlantstoreClient.prototype)
    const pages = ['getStart', 'getPageFile', 'getDocs', 'getDocsFile']
    const names: Readonly<Record<string, string>> = { listChanges: 'changes', getHistory: 'history' }
    const missing = contract.operations.filter(({ id }) => !methods.includes(names[id] ?? id) && !pages.includes(id))
    assert.deepEqual(pluck(missing, 'id'), [])
  })

  onEmpty('creates, reads, replaces, updates and deletes plants with exact ids and texts', async (service) => {
    const client = clientOf(service)
    const name = 'Käse "12345678901234567890" \\ \u2028 🌱 \\"9007199254740993'
    for (const id of IDS) {
      const { etag } = await client.createPlant({ id, name, tag: '' })
      assert.deepEqual(await client.getPlant(id), { plant: { id, name, tag: '' }, etag })
      const replaced = await client.replacePlant(id, { name: 'y' }, { ifMatch: etag })
      assert.deepEqual(replaced.plant, { id, name: 'y' })
      assert.notEqual(replaced.etag, etag)
      await assert.rejects(client.replacePlant(id, { name: 'z' }, { ifMatch: etag }), refusal(41201))
      assert.deepEqual((await client.updatePlant(id, { tag: 'x' })).plant, { id, name: 'y', tag: 'x' })
      assert.deepEqual((await client.updatePlant(id, { tag: null })).plant, { id, name: 'y' })
      const found = (await all(client.listPlants())).filter((plant) => plant.id === id)
      assert.deepEqual(found, [{ id, name: 'y' }])
      await assert.rejects(client.createPlant({ id, name: 'y' }, { mustBeNew: true }), refusal(41201))
      await client.deletePlant(id)
      await assert.rejects(client.deletePlant(id), refusal(40402))
    }
    assert.deepEqual(await service.plants(), [])
  })

  test('names what it does together, and undoes it', async (t) => {
    const client = clientOf(await withService(t))
    const named = { action: 'delivery-7', actionTitle: 'Lieferung 7 (größer)' }
    await client.createPlant({ id: MAX_ID, name: 'a' }, named)
    const rows = Array.from({ length: 12_000 }, (_, i) => ({ id: BigInt(i), name: `plant ${i}` }))
    assert.equal((await client.importPlants(rows, named)).action, 'delivery-7')
    await client.updatePlant(1n, { tag: 'x' }, named)
    await client.deletePlant(2n, named)
    await client.replacePlant(MAX_ID, { name: 'of another' })
    const { began, ended, ...action } = await client.getAction('delivery-7')
    const counts = { created: 12_001, updated: 1, deleted: 1 }
    assert.deepEqual(action, { id: 'delivery-7', title: named.actionTitle, token: 'configured', ...counts })
    const listed = await all(client.listActions({ since: began, token: 'configured' }))
    assert.deepEqual(listed, [{ ...action, began, ended }])
    assert.equal((await all(client.listChanges({ action: 'delivery-7', limit: 1000 }))).length, 12_003)
    const left = { left: 1, leftPlants: [{ id: MAX_ID, plant: { id: MAX_ID, name: 'of another' } }] }
    const tried = await client.undoAction('delivery-7', { dryRun: true })
    assert.deepEqual(tried, { dryRun: true, restored: 12_000, ...left })
    const { action: undo, ...report } = await client.undoAction('delivery-7', { action: 'back', actionTitle: 'Zurück' })
    assert.deepEqual([undo, report], ['back', { dryRun: false, restored: 12_000, ...left }])
    assert.deepEqual(await all(client.listPlants()), [{ id: MAX_ID, name: 'of another' }])
    assert.equal((await client.getAction('delivery-7')).undoneBy, 'back')
    await assert.rejects(client.undoAction('none'), refusal(40402))
  })

  test('sends no request for an id that would make another path', async () => {
    const client = new PlantstoreClient({ url: 'http://127.0.0.1', fetch: () => assert.fail('a request was sent') })
    for (const id of ['', '.', '..', '\ud800']) {
      const calls = [client.getWebhook(id), client.deleteWebhook(id), client.revokeToken(id), client.undoAction(id)]
      for (const call of calls) await assert.rejects(call, TypeError, id)
    }
  })

  onEmpty('lists plants, tags and tokens one by one or in pages, with filters', async (service) => {
    const client = clientOf(service)
    const plants = IDS.map((id, i) => ({ id, name: `plant ${i}`, tag: ['a & b', 'c+d', '%', ''][i % 4] ?? '' }))
    await client.importPlants(plants)
    assert.deepEqual(await all(client.listPlants({ limit: 3 })), plants)
    const pages = await all(client.listPlants({ limit: 3, sort: '-id' }).pages())
    assert.deepEqual(pluck(pages, 'length'), [3, 3, 2])
    assert.deepEqual(pages.flat(), plants.toReversed())
    assert.equal((await all(client.listPlants({ tag: 'a & b' }))).length, 2)
    assert.equal((await all(client.listPlants({ tag: ['c+d', '%'], q: 'plant', limit: 1 }))).length, 4)
    const expected = ['', '%', 'a & b', 'c+d'].map((tag) => ({ tag, plants: 2 }))
    assert.deepEqual(await all(client.listTags({ limit: 1 })), expected)
    for (let i = 0; i < 3; i++) await client.createToken({ name: `token ${i}`, scopes: ['plants:read'] })
    const tokens = await all(client.listTokens({ limit: 2 }))
    assert.deepEqual(new Set(tokens.map(({ name }) => name)), new Set(['token 0', 'token 1', 'token 2']))
  })

  onEmpty('exports plants one by one or as a file, and ends an export whose reader leaves', async (service) => {
    const client = clientOf(service)
    const plantAt = (_: unknown, i: number) => ({ id: MAX_ID - BigInt(i), name: `ü ${'x'.repeat(i % 997)}` })
    const plants = Array.from({ length: 3000 }, plantAt)
    const { action, ...report } = await client.importPlants(plants)
    assert.match(action ?? '', /^[0-9a-f]{32}$/)
    assert.deepEqual(report, { dryRun: false, added: 3000, updated: 0, unchanged: 0, refused: 0, refusedRows: [] })
    assert.deepEqual(await all(client.exportPlants({ sort: '-id' })), plants)
    for await (const plant of client.exportPlants({ sort: '-id' })) {
      assert.deepEqual(plant, plants[0])
      break
    }
    const ending = new AbortController()
    const left = client.exportPlants({}, { signal: ending.signal })
    await left.next()
    ending.abort(new Error('enough'))
    await assert.rejects(all(left), /enough/)
    const endingFile = new AbortController()
    const leftFile = await client.exportFile({}, { signal: endingFile.signal })
    endingFile.abort(new Error('enough'))
    await assert.rejects(new Response(leftFile).text(), /enough/)
    const file = await new Response(await client.exportFile({ format: 'csv', q: 'ü', sort: '-id' })).text()
    assert.ok(file.startsWith(`id,name,tag\r\n${MAX_ID},ü ,\r\n`))
    assert.equal(file.split('\r\n').length, 3002)
  })

  test('imports files and plants, and reports its progress', async () => {
    const client = clientOf(await emptyService())
    const csv = 'id;name;tag\r\n1;a;x\r\n2;b;\r\nx;c;\r\n'
    for (const source of [csv, new Blob([csv]), new Blob([csv]).stream()]) {
      const report = await client.importPlants(source, { format: 'csv', dryRun: true })
      assert.deepEqual([report.added, report.refusedRows[0]?.line, report.dryRun], [2, 4, true])
    }
    const made = function* () {
      for (let i = 0n; i < 12_000n; i++) yield { id: i, name: i === 11_999n ? 'a\0b' : 'x' }
    }
    const seen: number[] = []
    const report = await client.importPlants(made(), { onProgress: ({ added }) => seen.push(added) })
    assert.deepEqual(seen, [5000, 10_000, 11_999])
    assert.deepEqual([report.refused, report.refusedRows[0]?.line, report.refusedRows[0]?.error], [1, 12_000, 40002])
    assert.equal((await client.importPlants(made(), { dryRun: true })).unchanged, 11_999)
    const twice = await client.importPlants([{ id: 50_000n, name: 'x' }], { dryRun: true, duplicates: true })
    assert.deepEqual([twice.duplicates, twice.duplicateRows], [1, [{ line: 1, id: 0n }]])
    const updated = await client.importPlants([{ id: 1n, name: 'new' }], { mode: 'update' })
    assert.equal(updated.updated, 1)
    const rows = [1n, 2n].map((id) => ({ id, name: 'newer', before: { name: 'new' } }))
    const expecting = await client.importPlants(rows, { mode: 'update' })
    const found = [expecting.updated, expecting.refusedRows.map(({ line, error }) => [line, error])]
    assert.deepEqual(found, [1, [[2, 41201]]])
    const deleting = [{ id: 1n, name: 'newer' }, { id: 3n, name: 'not so' }, { id: 4n }, { id: 90_000n }]
    const deleted = await client.importPlants(deleting, { mode: 'delete' })
    assert.deepEqual([deleted.deleted, deleted.unchanged, deleted.refusedRows.map(({ line }) => line)], [2, 1, [2]])
    assert.equal((await client.importPlants([{ id: 5n }], { mode: 'delete', dryRun: true })).deleted, 1)
    const rest = Array.from({ length: 11_000 }, (_, i) => ({ id: BigInt(i) }))
    const before = (await all(client.exportPlants())).length
    const inParts = await client.importPlants(rest, { mode: 'delete' })
    assert.equal(inParts.deleted, before - (await all(client.exportPlants())).length)
    assert.equal((inParts.deleted ?? 0) + inParts.unchanged, rest.length)
  })

  onEmpty('creates and revokes tokens, and reads its own token', async (service) => {
    const { id, secret } = await clientOf(service).createToken({ name: 'reader', scopes: ['plants:read'] })
    const reader = clientOf(service, { token: secret })
    const { store = '', ...own } = await reader.getOwnToken()
    assert.deepEqual(own, { id, name: 'reader', scopes: ['plants:read'] })
    assert.match(store, /^[0-9a-f]{12}$/)
    assert.equal(store, (await clientOf(service).getOwnToken()).store)
    await assert.rejects(reader.createPlant({ id: 1n, name: 'x' }), (error) => {
      assert.ok(error instanceof PlantstoreError)
      assert.deepEqual([error.number, error.status, error.mayHaveSucceeded], [40301, 403, false])
      assert.match(error.requestId ?? '', /./)
      return true
    })
    const rotated = await clientOf(service).rotateToken(id, { overlapSeconds: 60 })
    assert.equal((await clientOf(service, { token: rotated.secret }).getOwnToken()).id, rotated.id)
    await clientOf(service).revokeToken(id)
    await assert.rejects(clientOf(service).revokeToken('tok_00000000000'), refusal(40402))
  })

  onEmpty('reads health, metrics and the contract, without a token where the service needs none', async (service) => {
    const stranger = new PlantstoreClient({ url: new URL(`${urlOf(service)}/?`) })
    assert.deepEqual(await stranger.getLiveness(), { status: 'live' })
    assert.deepEqual(await stranger.getReadiness(), { status: 'ready' })
    assert.deepEqual(await stranger.getContract(), contract.document)
    await assert.rejects(stranger.getMetrics(), refusal(40101))
    await assert.rejects(stranger.getResourceMetadata(), refusal(40401))
    assert.match(await clientOf(service).getMetrics(), /^plantstore_http_requests_total/m)
  })
})

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom('9007199254740993', '"', '\\', '\\"12345678901234567890', '\\\\', '-1e1234567890123456789'),
)

test('the client reads every int64 and every text exactly, at any place in the JSON', () => {
  const id = fc.oneof(
    fc.bigInt(MIN_ID, MAX_ID),
    fc.constantFrom(MIN_ID, MAX_ID, 2n ** 53n, 10n ** 15n, 10n ** 15n - 1n),
  )
  const plants = fc.array(fc.record({ id, name: text, tag: text }), { maxLength: 5 })
  holds(
    fc.property(plants, (given) => {
      // The service never sends U+0000 in a text.
      const sent = given.map(({ id, name, tag }) => ({
        id,
        name: name.replaceAll('\0', ''),
        tag: tag.replaceAll('\0', ''),
      }))
      const json = `[${sent.map(({ id, ...rest }) => withId(id, rest)).join(',')}]`
      const read = parseExact(json) as { id: number | bigint; name: string; tag: string }[]
      const found = read.map(({ id, ...rest }) => ({ id: BigInt(id), ...rest }))
      assert.deepEqual(found, sent)
    }),
  )
})

test('the client refuses text that is not JSON, and reads other numbers as numbers', () => {
  for (const bad of ['', '{', '"1234567890123456', '[12345678901234567', '{"a":"\\"}', '\\"1234567890123456789']) {
    assert.throws(() => parseExact(bad), SyntaxError, bad)
  }
  assert.deepEqual(parseExact('[1.2345678901234567890, 1e1234, 12345678901234567e2, 7]'), [
    1.2345678901234567,
    Infinity,
    Number('12345678901234567e2'),
    7,
  ])
})

test('the client writes only a bigint as an id', () => {
  assert.equal(withId(-7n, {}), '{"id":-7}')
  const refused = /^TypeError: an id is a bigint, such as 7n, and not /
  for (const bad of JSON.parse('[7,"7",null]') as bigint[]) assert.throws(() => exactId(bad), refused)
})
