import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { ImportReport } from '../../client/src/index.ts'
import { chunk, importHead, LAST_CHUNK, NDJSON, untilStored } from '../support/import.ts'
import { holds } from '../support/property.ts'
import { RawConnection } from '../support/raw.ts'
import { type Answer, emptyService, errorOf, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const send = (service: Service, names: readonly string[], key: string | undefined, query = ''): Promise<Answer> =>
  service.importFile(names.map((name) => `${JSON.stringify({ name })}\n`).join(''), {
    query: `?ids=assign${query}`,
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
  })

function countsOf(answer: Answer): number[] {
  assert.equal(answer.status, 200, answer.body)
  const { added, unchanged, refused } = answer.json as ImportReport
  return [added, unchanged, refused]
}

const named = async (service: Service): Promise<string[]> => (await service.plants()).map(({ name }) => name).toSorted()

suite('an import that assigns ids, with an Idempotency-Key,', () => {
  onEmpty('adds no row again that somebody has changed since, and refuses it', async (service) => {
    const key = randomUUID()
    await send(service, ['Fern', 'Moss'], key)
    const fern = (await service.plants()).find(({ name }) => name === 'Fern')
    await service.sendJson('PUT', `/plants/${fern?.id}`, { name: 'Tree fern' })
    const again = await send(service, ['Fern', 'Moss'], key)
    assert.deepEqual(countsOf(again), [0, 1, 1])
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
    assert.deepEqual(countsOf(await send(service, ['Hoya'], randomUUID())), [1, 0, 0])
  })

  onEmpty('takes the key for itself only where it stores something', async (service) => {
    const key = randomUUID()
    assert.deepEqual(countsOf(await send(service, ['Fern'], key, '&dryRun=true')), [1, 0, 0])
    assert.deepEqual(countsOf(await send(service, ['Moss'], key)), [1, 0, 0])
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
            const connection = new RawConnection(service.port)
            const whole = head + chunk(body) + LAST_CHUNK
            connection.write(whole.slice(0, Math.ceil(share * whole.length)))
            if (share === 1 && waits && wanted.length > 0) await untilStored(service, before.length + 1)
            connection.socket.destroy()
          }
          const answers = await Promise.all([send(service, names, key), send(service, names, key)])
          for (const answer of answers) assert.deepEqual(countsOf(answer).slice(2), [0])
          assert.deepEqual(await named(service), [...before, ...wanted].toSorted())
        },
      ),
      { numRuns: 25 },
    )
  })
})
