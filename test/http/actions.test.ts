import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { contract } from '../support/conforms.ts'
import { pagesFrom, patch, put } from '../support/exchanges.ts'
import { pluck } from '../support/pluck.ts'
import { holds } from '../support/property.ts'
import { assertRefused, errorOf, type Sending, type Service, withService } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'
import { as } from '../support/tokens.ts'
import { words } from '../support/words.ts'

const named = (id: string, title?: string) => ({
  'Plantstore-Action': id,
  ...(title === undefined ? {} : { 'Plantstore-Action-Title': title }),
})

const rows = (count: number, name: string): string =>
  Array.from({ length: count }, (_, i) => `{"id":${i},"name":"${name} ${i}"}\n`).join('')

const importRows = (service: Service, body: string, headers: Record<string, string> = {}, query = '') =>
  service.importFile(body, { headers, query })

const undo = (service: Service, id: string, headers: Record<string, string> = {}, query = '') =>
  service.send('POST', `/actions/${id}/undo${query}`, { headers })

const actionsOf = async (service: Service, query = '') =>
  (await service.send('GET', `/actions${query}`)).json as Record<string, unknown>[]

/** The pattern of Plantstore-Action-Title in the contract. */
function titlePattern(): string {
  const found = Object.values(contract.document.components['parameters'] ?? {}) as {
    readonly name?: string
    readonly schema: { readonly pattern?: string }
  }[]
  return found.find(({ name }) => name === 'Plantstore-Action-Title')?.schema.pattern ?? assert.fail()
}

suite('actions', () => {
  onEmpty('are what the header names, with the first title, and each answer names them', async (service) => {
    const headers = named('list-1', encodeURIComponent('Liste größer 100%.csv'))
    const answers = [
      await importRows(service, rows(3, 'imported'), headers),
      await service.create({ id: 7, name: 'Ginkgo' }, { headers }),
      await put(service, 7, { name: 'Ginkgo biloba' }, { headers }),
      await put(service, 8, { name: 'new' }, { headers }),
      await patch(service, 7, { tag: 'tree' }, { headers }),
      await service.send('DELETE', '/plants/0', { headers }),
    ]
    const shown = answers.map(({ status, headers }) => [status, headers['plantstore-action']])
    const expected = [200, 200, 200, 201, 200, 204].map((status) => [status, 'list-1'])
    assert.deepEqual(shown, expected)
    const [{ began, ended, ...action } = {}, ...others] = await actionsOf(service)
    assert.deepEqual(others, [])
    const counts = { created: 5, updated: 2, deleted: 1 }
    assert.deepEqual(action, { id: 'list-1', title: 'Liste größer 100%.csv', token: 'configured', ...counts })
    assert.ok(String(began) <= String(ended))
    assert.deepEqual((await service.send('GET', '/actions/list-1')).json, { ...action, began, ended })
    const entries = (await service.send('GET', '/changes?action=list-1&limit=3')).json as { action: string }[]
    const seen = entries.map((entry) => entry.action)
    assert.deepEqual(seen, ['list-1', 'list-1', 'list-1'])
  })

  test('are not made by a single change, and in any case by an import, which a retry of its key continues', async (t) => {
    const service = await withService(t)
    await service.create({ id: 7, name: 'Ginkgo' })
    await importRows(service, rows(2, 'dry'), {}, '?dryRun=true')
    assert.deepEqual(await actionsOf(service), [])
    const { headers } = await importRows(service, rows(2, 'own'))
    const headersOfKey = { 'Idempotency-Key': 'a-key-of-twenty-and-more' }
    const unnamed = '{"name":"a"}\n{"name":"b"}\n'
    const keyed = [1, 2].map(() => importRows(service, unnamed, headersOfKey, '?ids=assign'))
    const [first, second] = (await Promise.all(keyed)).map((answer) => answer.headers['plantstore-action'])
    assert.equal(first, second)
    assert.deepEqual(pluck(await actionsOf(service), 'id', 'created'), [
      [first, 2],
      [headers['plantstore-action'], 2],
    ])
  })

  onService('are listed by pages, by their token and by their time', async (service) => {
    const { secret, token } = await service.issueToken(['plants:write'])
    for (let i = 0; i < 5; i++) await importRows(service, `{"id":${i},"name":"x"}`, named(`a${i}`))
    await service.importFile('{"id":9,"name":"y"}', { ...as(secret), headers: named('other') })
    const all = (await actionsOf(service)).map(({ id }) => id)
    assert.deepEqual(all.toSorted(), ['a0', 'a1', 'a2', 'a3', 'a4', 'other'])
    const pages = await pagesFrom(service, '/actions?limit=2')
    assert.deepEqual(
      pluck(
        pages.flatMap(({ json }) => json as { id: string }[]),
        'id',
      ),
      all,
    )
    assert.deepEqual(pluck(await actionsOf(service, `?token=${token.id}`), 'id'), ['other'])
    assert.deepEqual(await actionsOf(service, '?since=2999-01-01T00:00:00Z'), [])
    assert.equal((await actionsOf(service, '?since=2026-01-01T00:00:00%2B01:00')).length, 6)
  })

  test('take as a title exactly what is percent-encoded UTF-8 without U+0000, as the contract says', () => {
    const pattern = new RegExp(titlePattern(), 'u')
    const isText = (encoded: string) => {
      try {
        return !decodeURIComponent(encoded).includes('\0')
      } catch {
        return false
      }
    }
    const byte = fc.oneof(
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(
        ...words`00 7f 80 8f 90 9f a0 bf c1 c2 df e0 ec ed ef f0 f4 f5`.map((hex) => Number.parseInt(hex, 16)),
      ),
    )
    const encoded = fc
      .array(byte, { minLength: 1, maxLength: 4 })
      .map((bytes) => `%${Buffer.from(bytes).toString('hex').match(/../g)?.join('%')}`)
    const text = fc.string({ unit: 'binary', minLength: 1 }).filter(isText).map(encodeURIComponent)
    holds(
      fc.property(fc.oneof(encoded, text), (title) => {
        assert.equal(pattern.test(title), isText(title), title)
      }),
      { numRuns: 3000 },
    )
  })

  onEmpty('refuse a bad id, title, time and cursor, and an id of another token', async (service) => {
    const { secret } = await service.issueToken(['plants:write', 'plants:read'])
    const create = (headers: Record<string, string>, sending: Sending = {}) =>
      service.create({ id: 7, name: 'x' }, { headers, ...sending })
    for (const [headers, message] of [
      [named('a b'), /Plantstore-Action must have 1 to 64 letters/],
      [named('x'.repeat(65)), /Plantstore-Action must have 1 to 64 letters/],
      [named('a', '%ff'), /Plantstore-Action-Title must be percent-encoded UTF-8/],
      [named('a', '100%'), /Plantstore-Action-Title must be percent-encoded UTF-8/],
      [named('a', '%00'), /must not contain U\+0000/],
      [named('a', 'x'.repeat(201)), /at most 200 characters/],
      [{ 'Plantstore-Action-Title': 'alone' }, /needs Plantstore-Action/],
    ] as const) {
      assertRefused(await create(headers), 40003, message)
    }
    assert.equal((await create(named('mine', '%F0%9F%8C%B5'.repeat(200)))).status, 200)
    assertRefused(await create(named('mine'), as(secret)), 40907)
    const sending = { ...as(secret), headers: named('mine') }
    assert.equal(errorOf(await service.importFile('{"id":8,"name":"y"}', sending)), 40907)
    assert.equal((await service.plants()).length, 1)
    for (const query of [
      '?since=yesterday',
      '?since=2026-02-30T08:00:00Z',
      '?cursor=M-QLxkQ41sEAAAAAAAAAAHRva180YlhtMDlUelExcg',
      '?limit=0',
    ]) {
      assert.equal(errorOf(await service.send('GET', `/actions${query}`)), 40003, query)
    }
    for (const path of ['/actions/none', '/actions/none/undo']) {
      const method = path.endsWith('undo') ? 'POST' : 'GET'
      assert.equal(errorOf(await service.send(method, path)), 40402, path)
    }
    const stream = { headers: { Accept: 'text/event-stream' } }
    assert.equal(errorOf(await service.send('GET', '/changes?action=mine', stream)), 40003)
  })
})

suite('the undo of an action', () => {
  onEmpty('is tried by a dry run, done once whatever its retries, and undone again', async (service) => {
    await importRows(service, rows(600, 'old'))
    const before = await service.plants()
    await importRows(service, rows(700, 'new'), named('work'), '?mode=update')
    await service.send('DELETE', '/plants/5')
    const after = await service.plants()

    const report = { restored: 699, left: 1, leftPlants: [{ id: 5 }] }
    assert.deepEqual((await undo(service, 'work', {}, '?dryRun=true')).json, { dryRun: true, ...report })
    assert.deepEqual(await service.plants(), after)
    const key = { 'Idempotency-Key': 'a-key-of-twenty-and-more' }
    const answers = [await undo(service, 'work', key), await undo(service, 'work', key)]
    for (const answer of answers) assert.deepEqual(answer.json, { dryRun: false, ...report })
    const [first, second] = answers.map(({ headers }) => headers['plantstore-action'])
    assert.equal(first, second)
    const expected = before.filter(({ id }) => id !== 5n)
    assert.deepEqual(await service.plants(), expected)
    const [newest, work] = await actionsOf(service)
    assert.deepEqual([newest?.['undoes'], newest?.['deleted'], newest?.['updated']], ['work', 100, 599])
    assert.equal(work?.['undoneBy'], newest?.['id'])
    await undo(service, String(newest?.['id']), named('redo'))
    assert.deepEqual(await service.plants(), after)
  })

  onEmpty('by a token that may only write names the plants that stay, without their texts', async (service) => {
    const { secret } = await service.issueToken(['plants:write'])
    await importRows(service, rows(2, 'x'), named('rows'))
    await put(service, 1, { name: 'secret' })
    const left = async (sending?: Sending) =>
      ((await service.send('POST', '/actions/rows/undo?dryRun=true', sending)).json as { leftPlants: object[] })
        .leftPlants
    assert.deepEqual(await left(as(secret)), [{ id: 1 }])
    assert.deepEqual(await left(), [{ id: 1, plant: { id: 1, name: 'secret' } }])
  })

  onService('is a line of the audit log, with both actions and what it did', async (service) => {
    await importRows(service, rows(3, 'x'), named('work'))
    await undo(service, 'work', named('back'))
    const line = JSON.parse(service.audited.findLast((each) => each.includes('undoAction')) ?? '{}') as object
    const expected = { outcome: 'undone', action: 'work', undo: 'back', restored: 3, left: 0 }
    assert.deepEqual({ ...line, ...expected }, line)
  })
})
