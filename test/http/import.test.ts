import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { ImportReport } from '../../client/src/index.ts'
import { chunk, importHead, LAST_CHUNK, NDJSON, untilStored } from '../support/import.ts'
import { pluck } from '../support/pluck.ts'
import { holds } from '../support/property.ts'
import { RawConnection } from '../support/raw.ts'
import { type Answer, assertRefused, emptyService, errorOf, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const CSV = 'text/csv'

/** Returns the counts of added, updated, unchanged and refused rows. */
function countsOf(answer: Answer): number[] {
  assert.equal(answer.status, 200, answer.body)
  const { added, updated, unchanged, refused } = answer.json as ImportReport
  return [added, updated, unchanged, refused]
}

/** The refused rows, as `LINE:ERROR`. */
const refusedIn = (answer: Answer): string[] =>
  (answer.json as ImportReport).refusedRows.map(({ line, error }) => `${line}:${error}`)

const ROWS = '{"id":1,"name":"Fern","tag":"shade"}\n{"id":2,"name":"Moss"}\n'
const TABLE = 'id,name,tag\r\n1,Fern,shade\r\n2,Moss,\r\n'

suite('an import', () => {
  for (const [type, file] of [
    [NDJSON, ROWS],
    [CSV, TABLE],
    ['TEXT/CSV; header=present; charset=UTF-8', TABLE],
  ] as const) {
    onEmpty(`of ${type} stores every row, and changes nothing when repeated`, async (service) => {
      assert.deepEqual(countsOf(await service.importFile(file, { type })), [2, 0, 0, 0])
      assert.deepEqual(await service.plants(), [
        { id: 1n, name: 'Fern', tag: 'shade' },
        { id: 2n, name: 'Moss', tag: null },
      ])
      assert.deepEqual(countsOf(await service.importFile(file, { type, chunked: true })), [0, 0, 2, 0])
    })
  }

  onEmpty('overwrites no change of others, where its rows say what they have read', async (service) => {
    await service.importFile(ROWS)
    const row = (id: number, tag: string, before: object) => JSON.stringify({ id, name: 'Fern', tag, before })
    const rows = [row(1, 'sold', { name: 'Fern', tag: 'shade' }), row(2, 'sold', { name: 'Fern' }), row(3, 'a', {})]
    const answer = await service.importFile(rows.join('\n'), { query: '?mode=update' })
    assert.deepEqual(countsOf(answer), [0, 1, 0, 2])
    assert.deepEqual(refusedIn(answer), ['2:41201', '3:40002'])
    assert.match(answer.body, /the plant with the id 2 is not as the row expects/)
    assert.match(answer.body, /in before: name is required/)
    assert.deepEqual(await service.plants(), [
      { id: 1n, name: 'Fern', tag: 'sold' },
      { id: 2n, name: 'Moss', tag: null },
    ])
    assert.deepEqual(countsOf(await service.importFile(rows[0] ?? '', { query: '?mode=update' })), [0, 0, 1, 0])
  })

  for (const format of ['ndjson', 'csv'] as const) {
    onEmpty(`sends an export of ${format} back with mode=delete, which deletes what is as it was`, async (service) => {
      await service.importFile(`${ROWS}{"id":3,"name":"Ash","tag":"shade"}\n{"id":4,"name":"Oak","tag":"shade"}\n`)
      const file = (await service.send('GET', `/plants/export?tag=shade&format=${format}`)).body
      await service.sendJson('PATCH', '/plants/3', '{"name":"Ash tree"}')
      await service.send('DELETE', '/plants/4')
      const type = format === 'csv' ? CSV : NDJSON
      const dry = await service.importFile(file, { type, query: '?mode=delete&dryRun=true' })
      const deleting = () => service.importFile(file, { type, query: '?mode=delete' })
      for (const answer of [dry, await deleting()]) {
        assert.deepEqual(countsOf(answer), [0, 0, 1, 1])
        assert.equal((answer.json as ImportReport).deleted, 1)
        assert.deepEqual(refusedIn(answer), [format === 'csv' ? '3:41201' : '2:41201'])
      }
      assert.deepEqual(pluck(await service.plants(), 'name'), ['Moss', 'Ash tree'])
      assert.deepEqual(countsOf(await deleting()), [0, 0, 2, 1])
    })
  }

  onEmpty('with mode=delete takes rows of an id alone, and refuses rows of half a plant', async (service) => {
    await service.importFile(ROWS)
    const rows = '{"id":1}\n{"id":2,"tag":"x"}\n{"id":2,"name":7}\n{}\n{"id":"2"}\n[]\n'
    const answer = await service.importFile(rows, { query: '?mode=delete' })
    assert.equal((answer.json as ImportReport).deleted, 1)
    assert.deepEqual(refusedIn(answer), ['2:40002', '3:40002', '4:40002', '5:40002', '6:40002'])
    const csv = await service.importFile('ID\r\n2\r\n9\r\nx\r\n', { type: CSV, query: '?mode=delete' })
    assert.deepEqual([(csv.json as ImportReport).deleted, ...countsOf(csv)], [1, 0, 0, 1, 1])
    assert.deepEqual(await service.plants(), [])
    for (const [header, fault] of [
      ['id,tag\r\n1,x\r\n', /the column name is missing/],
      ['id,note\r\n1,x\r\n', /the unknown column/],
      ['name\r\nx\r\n', /the column id is missing/],
    ] as const) {
      assertRefused(await service.importFile(header, { type: CSV, query: '?mode=delete' }), 40001, fault)
    }
    assert.equal(errorOf(await service.importFile('id\r\n1\r\n', { type: CSV })), 40001)
    assert.equal((answer.json as ImportReport).dryRun, false)
  })

  test('reads a file labelled UTF-16 like the same file without the label, and refuses one without its mark', async () => {
    const service = await emptyService()
    const utf16 = (text: string) => Buffer.from(text, 'utf16le')
    const files = { [CSV]: TABLE, [NDJSON]: ROWS }
    for (const [type, file] of Object.entries(files)) {
      const marked = utf16(`\ufeff${file}`)
      for (const label of ['', '; charset=utf-16', '; charset="UTF-16"']) {
        for (const body of [marked, Buffer.from(marked).swap16()]) {
          const answer = await service.importFile(body, { type: `${type}${label}`, query: '?dryRun=true' })
          assert.deepEqual(countsOf(answer), [2, 0, 0, 0], label)
        }
      }
      for (const body of [utf16(file), file, `\ufeff${file}`]) {
        assertRefused(await service.importFile(body, { type: `${type}; charset=utf-16` }), 40001, /byte order mark/)
      }
    }
    const headers = { 'Content-Type': 'application/json; charset=utf-16' }
    assertRefused(await service.create(utf16('\ufeff{"id":1,"name":"a"}'), { headers }), 41501)
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('of an empty body stores nothing as NDJSON, and lacks a header as CSV', async (service) => {
    assert.deepEqual(countsOf(await service.importFile('')), [0, 0, 0, 0])
    assert.deepEqual(countsOf(await service.importFile('id,name\n', { type: CSV })), [0, 0, 0, 0])
    const message = /^the file has no header; .*; no row was processed; .* safe$/
    assertRefused(await service.importFile('', { type: CSV }), 40001, message)
  })

  onEmpty('names each refused row by its line, and stores the other rows', async (service) => {
    await service.create({ id: 2, name: 'Oak' })
    const answer = await service.importFile(
      `${ROWS}\n{"id":3}\nrubbish\n{"id":1,"name":"Fern","tag":"shade"}\n{"id":1,"name":"x"}`,
    )
    assert.deepEqual(countsOf(answer), [1, 0, 1, 4])
    assert.deepEqual(refusedIn(answer), ['2:40901', '4:40002', '5:40001', '7:40901'])
    const found = (await service.plants()).map(({ id, name }) => `${id} ${name}`)
    assert.deepEqual(found, ['1 Fern', '2 Oak'])
  })

  onEmpty('lists the first 1000 refused rows, and counts all of them', async (service) => {
    const answer = await service.importFile(`${'x\n'.repeat(2500)}{"id":1,"name":"a"}`)
    assert.deepEqual(countsOf(answer), [1, 0, 0, 2500])
    const lines = (answer.json as ImportReport).refusedRows.map(({ line }) => line)
    const expected = Array.from({ length: 1000 }, (_, i) => i + 1)
    assert.deepEqual(lines, expected)
  })
})

suite('an import is refused before its body is read', () => {
  const cases: [what: string, error: number, sending: Parameters<Service['importFile']>[1]][] = [
    ['with an unknown parameter', 40003, { query: '?dryrun=true' }],
    ['with another mode', 40003, { query: '?mode=replace' }],
    ['with a dry run that is neither true nor false', 40003, { query: '?dryRun=1' }],
    ['with duplicates, but no dry run', 40003, { query: '?duplicates=true' }],
    ['with duplicates that are neither true nor false', 40003, { query: '?dryRun=true&duplicates=1' }],
    ['as JSON', 41501, { type: 'application/json' }],
    ['in another charset', 41501, { type: 'text/csv; charset=iso-8859-1' }],
    ['compressed', 41501, { headers: { 'Content-Encoding': 'gzip' } }],
  ]
  for (const [what, error, sending] of cases) {
    onEmpty(`${what}: ${error}`, async (service) => {
      for (const chunked of [false, true]) {
        assert.equal(errorOf(await service.importFile(ROWS, { ...sending, chunked })), error)
      }
      assert.deepEqual(await service.plants(), [])
    })
  }

  onEmpty('with duplicates and a token without the scope plants:read: 40301', async (service) => {
    const { secret } = await service.issueToken(['plants:write'])
    const authorization = `Bearer ${secret}`
    assertRefused(await service.importFile(ROWS, { authorization, query: '?dryRun=true&duplicates=true' }), 40301)
    assert.deepEqual(countsOf(await service.importFile(ROWS, { authorization, query: '?dryRun=true' })), [2, 0, 0, 0])
  })
})

const send = (service: Service, names: readonly string[], key: string | undefined, query = ''): Promise<Answer> =>
  service.importFile(names.map((name) => `${JSON.stringify({ name })}\n`).join(''), {
    query: `?ids=assign${query}`,
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
  })

const named = async (service: Service): Promise<string[]> => (await service.plants()).map(({ name }) => name).toSorted()

suite('an import that assigns ids, with an Idempotency-Key,', () => {
  onEmpty('adds no row again that somebody has changed since, and refuses it', async (service) => {
    const key = randomUUID()
    await send(service, ['Fern', 'Moss'], key)
    const fern = (await service.plants()).find(({ name }) => name === 'Fern')
    await service.sendJson('PUT', `/plants/${fern?.id}`, { name: 'Tree fern' })
    const again = await send(service, ['Fern', 'Moss'], key)
    assert.deepEqual(countsOf(again), [0, 0, 1, 1])
    assert.equal((again.json as ImportReport).refusedRows[0]?.error, 40901)
    assert.deepEqual(await named(service), ['Moss', 'Tree fern'])
  })

  onEmpty('is refused for other rows, and changes nothing', async (service) => {
    const key = randomUUID()
    await send(service, ['Fern', 'Moss'], key)
    for (const other of [['Fern', 'Hoya'], ['Fern'], ['Moss', 'Fern'], ['Fern', 'Moss', 'Hoya']]) {
      assert.equal(errorOf(await send(service, other, key)), 40902)
    }
    assert.deepEqual(await named(service), ['Fern', 'Moss'])
    assert.deepEqual(countsOf(await send(service, ['Hoya'], randomUUID())), [1, 0, 0, 0])
  })

  onEmpty('takes the key for itself only where it stores something', async (service) => {
    const key = randomUUID()
    assert.deepEqual(countsOf(await send(service, ['Fern'], key, '&dryRun=true')), [1, 0, 0, 0])
    assert.deepEqual(countsOf(await send(service, ['Moss'], key)), [1, 0, 0, 0])
    assert.deepEqual(await named(service), ['Moss'])
  })

  test('or without one, adds nothing twice and loses nothing, wherever an attempt breaks and however many run at once', async () => {
    const name = fc.constantFrom('Fern', 'Moss', 'Hoya', 'Aloe')
    const many = fc.array(name, { minLength: 1, maxLength: 12 }).chain((some) =>
      // Several batches, so that an attempt can break between two of them.
      fc.integer({ min: 1, max: 400 }).map((times) => Array.from({ length: times }, () => some).flat()),
    )
    const share = fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true }))
    const breaks = fc.array(fc.record({ share, waits: fc.boolean() }), { maxLength: 3 })
    await holds(
      fc.asyncProperty(
        fc.array(name, { maxLength: 2 }),
        many,
        breaks,
        fc.boolean(),
        async (before, names, cuts, hasKey) => {
          const service = await emptyService()
          await send(service, before, undefined)
          const key = hasKey ? randomUUID() : undefined
          const body = names.map((each) => `${JSON.stringify({ name: each })}\n`).join('')
          const head = importHead(NDJSON, key === undefined ? 'X-Request-Id: none' : `Idempotency-Key: ${key}`).replace(
            '/import',
            '/import?ids=assign',
          )
          const wanted = names.filter((each) => !before.includes(each))
          for (const { share, waits } of cuts) {
            const whole = head + chunk(body) + LAST_CHUNK
            const connection = new RawConnection(service.port, whole.slice(0, Math.ceil(share * whole.length)))
            if (share === 1 && waits && wanted.length > 0) await untilStored(service, before.length + 1)
            connection.socket.destroy()
          }
          const answers = await Promise.all([send(service, names, key), send(service, names, key)])
          for (const answer of answers) assert.equal(countsOf(answer)[3], 0)
          assert.deepEqual(await named(service), [...before, ...wanted].toSorted())
        },
      ),
      { numRuns: 25 },
    )
  })
})
