import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { pluck } from '../support/pluck.ts'
import { untilCreatesWait } from '../support/requests.ts'
import { assertRefused, errorOf } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'

const MONSTERA = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' }

suite('creating a plant', () => {
  onEmpty('stores the plant, and answers it without its id', async (service) => {
    const answer = await service.create(MONSTERA)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers['content-location'], '/plants/1')
    assert.deepEqual(answer.json, { name: 'Monstera deliciosa', tag: 'houseplant' })
    assert.deepEqual(await service.plants(), [{ id: 1n, name: 'Monstera deliciosa', tag: 'houseplant' }])
  })

  onEmpty('gives the same answer when repeated, even with the members in another order', async (service) => {
    const first = await service.create(MONSTERA)
    const again = await service.create(MONSTERA)
    const turned = await service.create('{"tag":"houseplant","name":"Monstera deliciosa","id":1.0}')
    for (const { status, body, headers } of [again, turned]) {
      assert.equal(status, 200)
      assert.equal(body, first.body)
      assert.equal(headers.etag, first.headers.etag)
      assert.equal(headers['content-location'], '/plants/1')
    }
    assert.equal((await service.plants()).length, 1)
  })

  onEmpty('with the id of another plant is 409 and changes nothing', async (service) => {
    await service.create(MONSTERA)
    const { tag: _, ...untagged } = MONSTERA
    for (const other of [untagged, { ...MONSTERA, tag: '' }]) {
      assertRefused(await service.create(other), 40901, /the id 1 /)
    }
    assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: MONSTERA.tag }])
  })

  onEmpty('ignores unknown members', async (service) => {
    const answer = await service.create({ ...MONSTERA, colour: 'green', ID: 9, children: [{ id: 3 }], created: null })
    assert.equal(answer.status, 200)
    assert.deepEqual(Object.keys(answer.json as object), ['name', 'tag'])
    assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: MONSTERA.tag }])
  })
})

suite('If-None-Match: *', () => {
  onEmpty('creates a new plant, and refuses an existing id even with an equal plant', async (service) => {
    const strict = { headers: { 'If-None-Match': '*' } }
    assert.equal((await service.create(MONSTERA, strict)).status, 200)
    for (const plant of [MONSTERA, { ...MONSTERA, name: 'other' }]) {
      const answer = await service.create(plant, strict)
      assert.equal(answer.status, 412)
      assert.equal(errorOf(answer), 41201)
    }
    assert.equal((await service.create(MONSTERA)).status, 200)
    assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: MONSTERA.tag }])
  })

  onEmpty('is the only accepted value of that header', async (service) => {
    for (const value of ['"0123456789abcdef"', 'W/"x"', '', '*, *']) {
      assertRefused(await service.create(MONSTERA, { headers: { 'If-None-Match': value } }), 40003, /If-None-Match/)
    }
    assert.deepEqual(await service.plants(), [])
  })
})

suite('a body that is not a plant', () => {
  const FAULTS: readonly [string, string][] = [
    ['{}', 'id is required; name is required'],
    ['{"id":1}', 'name is required'],
    ['{"name":"x"}', 'id is required'],
    [
      '{"id":"1","name":1,"tag":[]}',
      'id must be an integer, as a JSON number (a text needs IEEE754Compatible=true at the Content-Type, or an address below /text-ids); name must be a string; tag must be a string',
    ],
    [
      '{"id":9223372036854775808,"name":null}',
      'id must be from -9223372036854775808 to 9223372036854775807; name must be a string',
    ],
    ['{"id":1.5,"tag":7}', 'id must be an integer, as a JSON number; name is required; tag must be a string'],
    [
      '{"name":"\\u0000","tag":"\\ud800"}',
      'id is required; name must not contain U+0000 or a lone surrogate; tag must not contain U+0000 or a lone surrogate',
    ],
    ['[]', 'the body must be an object'],
    ['[{"id":1,"name":"x"}]', 'the body must be an object'],
    ['null', 'the body must be an object'],
    ['7', 'the body must be an object'],
    ['"id"', 'the body must be an object'],
  ]

  onEmpty('is 40002 with a message that names every fault', async (service) => {
    for (const [body, message] of FAULTS) {
      assertRefused(await service.create(body), 40002, message)
    }
    assert.deepEqual(await service.plants(), [])
  })
})

suite('creates beyond the bound on waiting creates', () => {
  onService('are 50302 at once and not stored', { maxWaiting: 2 }, async (service) => {
    await service.create({ id: 0, name: 'so that the token is known' })
    const release = await service.under.lock()
    const waiting = [1, 2].map((id) => service.create({ id, name: 'x' }))
    await untilCreatesWait(service, 2)
    for (let id = 3; id <= 10; id++) {
      const { status, body, headers } = await service.create({ id, name: 'x' })
      assert.equal(status, 503)
      assert.match(body, /50302/)
      assert.equal(headers['retry-after'], '1')
    }
    await release()
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200)
    assert.deepEqual(pluck(await service.plants(), 'id'), [0n, 1n, 2n])
  })
})
