import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { untilCreatesWait } from '../support/requests.ts'
import { emptyService, errorOf, messageOf, withService } from '../support/service.ts'

const MONSTERA = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' }

suite('creating a plant', () => {
  test('stores the plant, and answers it without its id', async () => {
    const service = await emptyService()
    const answer = await service.create(MONSTERA)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers['content-location'], '/plants/1')
    assert.deepEqual(answer.json, { name: 'Monstera deliciosa', tag: 'houseplant' })
    assert.deepEqual(await service.plants(), [{ id: 1n, name: 'Monstera deliciosa', tag: 'houseplant' }])
  })

  test('gives the same answer when repeated, even with the members in another order', async () => {
    const service = await emptyService()
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

  for (const [what, other] of Object.entries({
    'another name': { ...MONSTERA, name: 'Monstera adansonii' },
    'another tag': { ...MONSTERA, tag: 'outdoors' },
    'no tag': { id: 1, name: MONSTERA.name },
    'an empty tag': { ...MONSTERA, tag: '' },
  })) {
    test(`with an existing id and ${what} is 409 and changes nothing`, async () => {
      const service = await emptyService()
      await service.create(MONSTERA)
      const answer = await service.create(other)
      assert.equal(answer.status, 409)
      assert.equal(errorOf(answer), 40901)
      assert.match(messageOf(answer), /the id 1 /)
      assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: MONSTERA.tag }])
    })
  }

  test('ignores unknown members', async () => {
    const service = await emptyService()
    const answer = await service.create({ ...MONSTERA, colour: 'green', ID: 9, children: [{ id: 3 }], created: null })
    assert.equal(answer.status, 200)
    assert.deepEqual(Object.keys(answer.json as object), ['name', 'tag'])
    assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: MONSTERA.tag }])
  })
})

suite('the tag of a plant', () => {
  test('cannot be null', async () => {
    const service = await emptyService()
    const answer = await service.create({ id: 1, name: 'x', tag: null })
    assert.equal(errorOf(answer), 40002)
    assert.equal(messageOf(answer), 'tag must be a string')
    assert.deepEqual(await service.plants(), [])
  })
})

suite('the entity tag of the answer', () => {
  test('differs between plants that differ in id, name or tag, and between an absent and an empty tag', async () => {
    const service = await emptyService()
    const plants = [
      { id: 1, name: 'x' },
      { id: 2, name: 'x', tag: '' },
      { id: 3, name: 'x', tag: 'y' },
      { id: 4, name: 'xy' },
      { id: 5, name: 'x' },
    ]
    const answers = await Promise.all(plants.map((plant) => service.create(plant)))
    assert.equal(new Set(answers.map(({ headers }) => headers.etag)).size, plants.length)
    const elsewhere = await emptyService()
    const [absent, empty] = [await elsewhere.create(plants[0]), await service.create({ id: 1, name: 'x', tag: '' })]
    assert.equal(absent.headers.etag, answers[0]?.headers.etag, 'every instance gives a plant the same tag')
    assert.equal(empty.status, 409)
  })
})

suite('If-None-Match: *', () => {
  test('creates a new plant, and refuses an existing id even with an equal plant', async () => {
    const service = await emptyService()
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

  test('is the only accepted value of that header', async () => {
    const service = await emptyService()
    for (const value of ['"0123456789abcdef"', 'W/"x"', '', '*, *']) {
      const answer = await service.create(MONSTERA, { headers: { 'If-None-Match': value } })
      assert.equal(errorOf(answer), 40003, value)
      assert.match(messageOf(answer), /If-None-Match/)
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

  test('is 40002 with a message that names every fault', async () => {
    const service = await emptyService()
    for (const [body, message] of FAULTS) {
      const answer = await service.create(body)
      assert.equal(errorOf(answer), 40002, body)
      assert.equal(messageOf(answer), message, body)
    }
    assert.deepEqual(await service.plants(), [])
  })

  test('is 40002 if it has a member twice, even an escaped, equal or unknown one', async () => {
    const service = await emptyService()
    const bodies: readonly [string, string][] = [
      ['{"id":1,"name":"x","id":1}', 'id'],
      ['{"id":1,"name":"x","\\u0069d":2}', 'id'],
      ['{"id":1,"name":"{\\"name\\":","a":{"name":1},"name":"y"}', 'name'],
      ['{"id":1,"name":"x","a":[1,2],"a" : {}}', 'a'],
      ['{"id":1,"name":"x","__proto__":1,"__proto__":1}', '__proto__'],
      ['{"id":1,"name":"x","a b\\n":1,"a b\\n":1}', 'the same member'],
    ]
    for (const [body, which] of bodies) {
      const answer = await service.create(body)
      assert.equal(errorOf(answer), 40002, body)
      assert.equal(messageOf(answer), `the body has ${which} more than once; send each member once`)
    }
    assert.deepEqual(await service.plants(), [])
    const nested = await service.create('{"id":1,"name":"a,\\",b","x":{"id":1,"id":2},"y":[1,[2,3],4]}')
    assert.equal(nested.status, 200, "what is inside other members is nobody's business")
  })
})

suite('creates beyond the bound on waiting creates', () => {
  test('are 50302 at once and not stored', async (t) => {
    const service = await withService(t, { maxWaiting: 2 })
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
    assert.deepEqual(
      (await service.plants()).map(({ id }) => id),
      [0n, 1n, 2n],
    )
  })
})
