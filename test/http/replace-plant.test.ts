import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { put } from '../support/exchanges.ts'
import { emptyService, errorOf, messageOf } from '../support/service.ts'

const MONSTERA = { name: 'Monstera deliciosa', tag: 'houseplant' }

suite('replacing a plant', () => {
  test('creates the plant if there is none: 201 with its path', async () => {
    const service = await emptyService()
    const answer = await put(service, 1, MONSTERA)
    assert.deepEqual([answer.status, answer.json], [201, { id: 1, ...MONSTERA }])
    assert.equal(answer.headers.location, '/plants/1')
    assert.equal(answer.headers['content-location'], '/plants/1')
    assert.equal(answer.headers.etag, (await service.send('GET', '/plants/1')).headers.etag)
    assert.deepEqual(await service.plants(), [{ id: 1n, ...MONSTERA }])
  })

  test('replaces the whole plant: 200, even if nothing changes', async () => {
    const service = await emptyService()
    await put(service, 1, MONSTERA)
    for (const plant of [{ name: 'Ficus' }, { name: '', tag: '' }, { name: 'Ficus', tag: 'tree' }]) {
      for (const _time of [1, 2]) {
        const answer = await put(service, 1, plant)
        assert.deepEqual([answer.status, answer.json], [200, { id: 1, ...plant }])
        assert.equal(answer.headers.location, undefined)
        assert.equal(answer.headers['content-location'], '/plants/1')
        assert.deepEqual((await service.send('GET', '/plants/1')).json, { id: 1, ...plant })
      }
    }
    assert.equal((await service.plants()).length, 1)
  })

  test('accepts an id in the body in any spelling if it equals the id in the path', async () => {
    const service = await emptyService()
    for (const id of ['7', '7.0', '70e-1']) {
      assert.ok((await put(service, 7, `{"id":${id},"name":"x"}`)).status < 300, id)
    }
    const large = '9007199254740993'
    assert.equal((await put(service, large, `{"id":${large},"name":"x"}`)).status, 201)
    for (const id of ['8', '-7', '7.5', '"7"', 'null', '[7]', '9223372036854775808']) {
      const answer = await put(service, 7, `{"id":${id},"name":"y"}`)
      assert.deepEqual([answer.status, errorOf(answer)], [400, 40002], id)
      assert.equal(messageOf(answer), 'id must be 7 as in the path, or left out')
    }
    const rounded = await put(service, large, '{"id":9007199254740992,"name":"y"}')
    assert.equal(messageOf(rounded), `id must be ${large} as in the path, or left out`)
    assert.deepEqual(
      (await service.plants()).map(({ name }) => name),
      ['x', 'x'],
    )
  })

  test('ignores unknown members, as a create does', async () => {
    const service = await emptyService()
    const answer = await put(service, 1, { ...MONSTERA, colour: 'green', ID: 2, ['__proto__']: { tag: 'x' } })
    assert.deepEqual([answer.status, answer.json], [201, { id: 1, ...MONSTERA }])
  })
})

suite('an invalid body of a replace', () => {
  const FAULTS: readonly [string, number, string][] = [
    ['', 40001, 'the body is empty; send a JSON object'],
    ['{', 40001, 'the body is not valid JSON, at position 1 (line 1 column 2)'],
    ['[]', 40002, 'the body must be an object'],
    ['null', 40002, 'the body must be an object'],
    ['"x"', 40002, 'the body must be an object'],
    ['{}', 40002, 'name is required'],
    [
      '{"id":2,"name":7,"tag":null}',
      40002,
      'id must be 1 as in the path, or left out; name must be a string; tag must be a string',
    ],
    [
      '{"name":"\\u0000","tag":"\\ud800"}',
      40002,
      'name must not contain U+0000 or a lone surrogate; tag must not contain U+0000 or a lone surrogate',
    ],
    ['{"name":"x","name":"y"}', 40002, 'the body has name more than once; send each member once'],
    [`{"name":"x","a":${'['.repeat(32)}${']'.repeat(32)}}`, 40001, 'the body is nested more than 32 levels deep'],
  ]

  test('is refused with every fault, and changes nothing', async () => {
    const service = await emptyService()
    await put(service, 1, MONSTERA)
    for (const [body, number, message] of FAULTS) {
      const answer = await put(service, 1, body)
      assert.deepEqual([errorOf(answer), messageOf(answer)], [number, message], body)
    }
    assert.equal(errorOf(await put(service, 1, Buffer.from('{"name":"\xff"}', 'latin1'))), 40001)
    assert.deepEqual(await service.plants(), [{ id: 1n, ...MONSTERA }])
  })

  test('is 41501 with another media type, and Accept names the supported one', async () => {
    const service = await emptyService()
    const kinds: Readonly<Record<string, string>>[] = [
      { 'Content-Type': 'text/plain' },
      { 'Content-Type': 'application/merge-patch+json' },
      { 'Content-Type': 'application/json; charset=utf-16' },
      { 'Content-Encoding': 'gzip' },
    ]
    for (const headers of kinds) {
      const answer = await put(service, 1, MONSTERA, { headers })
      assert.deepEqual([errorOf(answer), answer.headers['accept']], [41501, 'application/json'])
    }
    assert.equal(errorOf(await service.send('PUT', '/plants/1')), 41501)
    assert.deepEqual(await service.plants(), [])
  })
})

suite('preconditions of a replace:', () => {
  test('If-None-Match: * only creates, If-Match: * only replaces', async () => {
    const service = await emptyService()
    const isAbsent = { headers: { 'If-None-Match': '*' } }
    const isPresent = { headers: { 'If-Match': '*' } }
    assert.equal(errorOf(await put(service, 1, MONSTERA, isPresent)), 41201)
    assert.equal((await put(service, 1, MONSTERA, isAbsent)).status, 201)
    assert.equal(errorOf(await put(service, 1, { name: 'y' }, isAbsent)), 41201)
    assert.equal((await put(service, 1, { name: 'z' }, isPresent)).status, 200)
    assert.deepEqual(await service.plants(), [{ id: 1n, name: 'z', tag: null }])
  })

  test('If-Match with the entity tag of a read holds until the next write', async () => {
    const service = await emptyService()
    const { etag = '' } = (await put(service, 1, MONSTERA)).headers
    const mine = { headers: { 'If-Match': etag } }
    const { status, headers } = await put(service, 1, { name: 'mine' }, mine)
    assert.equal(status, 200)
    for (const value of [etag, `W/${headers.etag}`, '"other"']) {
      const answer = await put(service, 1, { name: 'late' }, { headers: { 'If-Match': value } })
      assert.deepEqual([answer.status, errorOf(answer)], [412, 41201], value)
      assert.match(messageOf(answer), /nothing was changed, read it again \(If-Match[;)]/)
    }
    const others = { headers: { 'If-None-Match': `W/${headers.etag}` } }
    assert.equal(errorOf(await put(service, 1, { name: 'late' }, others)), 41201)
    assert.equal((await put(service, 1, { name: 'x' }, { headers: { 'If-None-Match': etag } })).status, 200)
  })
})
