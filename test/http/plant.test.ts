import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { patch, put } from '../support/exchanges.ts'
import { pluck } from '../support/pluck.ts'
import { assertRefused, errorOf, messageOf, type Sending } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const FIELDS = { name: 'Monstera deliciosa', tag: 'houseplant' }
const MONSTERA = { id: 1, ...FIELDS }

suite('reading a plant', () => {
  onEmpty('answers the whole plant, with its entity tag', async (service) => {
    const created = await service.create(MONSTERA)
    const answer = await service.send('GET', '/plants/1')
    assert.deepEqual([answer.status, answer.body], [200, JSON.stringify(MONSTERA)])
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers.etag, created.headers.etag, 'the entity tag of the create')
    assert.equal(answer.headers['cache-control'], 'private, no-cache')
  })

  onEmpty('is 40402 if there is none, whatever the preconditions', async (service) => {
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-None-Match': '*' }, { 'If-Match': '"x"' }]) {
      assertRefused(await service.send('GET', '/plants/7', { headers }), 40402, 'there is no plant with the id 7')
    }
  })
})

onEmpty('the id in a path must be plain decimal, percent-encoded or not', async (service) => {
  await service.create({ id: 7, name: 'x' })
  await service.create({ id: -7, name: 'y' })
  assert.equal((await service.send('GET', '/plants/%37')).status, 200)
  assert.equal((await service.send('GET', '/plants/%2D7')).body, '{"id":-7,"name":"y"}')
  const others = ['+7', '007', '-07', '7.0', '7e0', '-0', '00', '0x7', '%207', '7%20', '7%00', '%EF%BC%97', '%D9%A7']
  const nonsense = ['seven', '-', '--7', '7,8', '7;a=b', '7%2F8', '..%2F7', 'null', 'NaN', '1_000', '%2B7']
  const outOfRange = ['9223372036854775808', '-9223372036854775809', '9'.repeat(2000)]
  for (const id of [...others, ...nonsense, ...outOfRange]) {
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const answer = await service.send(method, `/plants/${id}`)
      assert.equal(answer.status, 400, `${method} ${id}`)
      if (method === 'HEAD') continue
      assertRefused(answer, 40003, /^id must be an integer from -9223372036854775808 to .*plain decimal/)
    }
  }
  assert.equal((await service.plants()).length, 2)
})

suite('If-None-Match on reading', () => {
  onEmpty('answers 304 while the plant is unchanged, and then the new plant', async (service) => {
    const { etag = '' } = (await service.create(MONSTERA)).headers
    for (const value of [etag, `W/${etag}`, '*', `"other", ${etag}`, `,,"a,b" ,W/${etag},`]) {
      const answer = await service.send('GET', '/plants/1', { headers: { 'If-None-Match': value } })
      assert.deepEqual([answer.status, answer.body], [304, ''], value)
      assert.deepEqual([answer.headers.etag, answer.headers['cache-control']], [etag, 'private, no-cache'])
    }
    for (const value of ['"other"', `"${etag.slice(1, -2)}"`, 'W/""']) {
      const answer = await service.send('GET', '/plants/1', { headers: { 'If-None-Match': value } })
      assert.deepEqual([answer.status, answer.body], [200, JSON.stringify(MONSTERA)], value)
    }
    await service.send('DELETE', '/plants/1')
    await service.create({ ...MONSTERA, tag: 'outdoors' })
    assert.equal((await service.send('GET', '/plants/1', { headers: { 'If-None-Match': etag } })).status, 200)
  })
})

suite('If-Match on reading', () => {
  onEmpty('answers 412 unless an entity tag matches, and is checked before If-None-Match', async (service) => {
    const { etag = '' } = (await service.create(MONSTERA)).headers
    for (const value of [etag, '*', `"other",${etag}`]) {
      assert.equal((await service.send('GET', '/plants/1', { headers: { 'If-Match': value } })).status, 200, value)
    }
    for (const value of ['"other"', `W/${etag}`]) {
      const headers = { 'If-Match': value, 'If-None-Match': etag }
      assertRefused(await service.send('GET', '/plants/1', { headers }), 41201)
    }
    const both = { 'If-Match': etag, 'If-None-Match': etag }
    assert.equal((await service.send('GET', '/plants/1', { headers: both })).status, 304)
  })
})

suite('replacing a plant', () => {
  onEmpty('creates the plant if there is none: 201 with its path', async (service) => {
    const answer = await put(service, 1, FIELDS)
    assert.deepEqual([answer.status, answer.json], [201, { id: 1, ...FIELDS }])
    assert.equal(answer.headers.location, '/plants/1')
    assert.equal(answer.headers['content-location'], '/plants/1')
    assert.equal(answer.headers.etag, (await service.send('GET', '/plants/1')).headers.etag)
    assert.deepEqual(await service.plants(), [{ id: 1n, ...FIELDS }])
  })

  onEmpty('replaces the whole plant: 200, even if nothing changes', async (service) => {
    await put(service, 1, FIELDS)
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

  onEmpty('accepts an id in the body in any spelling if it equals the id in the path', async (service) => {
    for (const id of ['7', '7.0', '70e-1']) {
      assert.ok((await put(service, 7, `{"id":${id},"name":"x"}`)).status < 300, id)
    }
    const large = '9007199254740993'
    assert.equal((await put(service, large, `{"id":${large},"name":"x"}`)).status, 201)
    for (const id of ['8', '-7', '7.5', '"7"', 'null', '[7]', '9223372036854775808']) {
      assertRefused(await put(service, 7, `{"id":${id},"name":"y"}`), 40002, 'id must be 7 as in the path, or left out')
    }
    const rounded = await put(service, large, '{"id":9007199254740992,"name":"y"}')
    assert.equal(messageOf(rounded), `id must be ${large} as in the path, or left out`)
    assert.deepEqual(pluck(await service.plants(), 'name'), ['x', 'x'])
  })

  onEmpty('ignores unknown members, as a create does', async (service) => {
    const answer = await put(service, 1, { ...FIELDS, colour: 'green', ID: 2, ['__proto__']: { tag: 'x' } })
    assert.deepEqual([answer.status, answer.json], [201, { id: 1, ...FIELDS }])
  })
})

suite('updating a plant', () => {
  const CHANGES: readonly [string, object][] = [
    ['{"name":"Ficus"}', { id: 1, name: 'Ficus', tag: 'houseplant' }],
    ['{"name":""}', { id: 1, name: '', tag: 'houseplant' }],
    ['{"tag":"tree"}', { id: 1, name: FIELDS.name, tag: 'tree' }],
    ['{"tag":""}', { id: 1, name: FIELDS.name, tag: '' }],
    ['{"tag":null}', { id: 1, name: FIELDS.name }],
    ['{"tag":null,"name":"x"}', { id: 1, name: 'x' }],
    ['{"id":1.0,"name":"x"}', { id: 1, name: 'x', tag: 'houseplant' }],
    ['{}', MONSTERA],
    ['{"id":1}', MONSTERA],
  ]

  for (const [body, after] of CHANGES) {
    onEmpty(`by ${body} changes only those members, and may be repeated`, async (service) => {
      await service.create(MONSTERA)
      for (const _time of [1, 2]) {
        const answer = await patch(service, 1, body)
        assert.deepEqual([answer.status, answer.body], [200, JSON.stringify(after)])
        assert.equal(answer.headers['content-location'], '/plants/1')
        const read = await service.send('GET', '/plants/1')
        assert.deepEqual([read.body, read.headers.etag], [answer.body, answer.headers.etag])
      }
    })
  }

  onEmpty('ignores unknown members, as a create does', async (service) => {
    await service.create(MONSTERA)
    const answer = await patch(service, 1, '{"nmae":"x","colour":null,"__proto__":{"tag":"x"}}')
    assert.deepEqual([answer.status, answer.json], [200, MONSTERA])
  })

  onEmpty('may have either media type', async (service) => {
    await service.create(MONSTERA)
    const merge = { headers: { 'Content-Type': 'Application/Merge-Patch+JSON; charset=UTF-8' } }
    assert.equal((await patch(service, 1, '{}', merge)).status, 200)
    const json = { headers: { 'Content-Type': 'application/json; charset=utf-8' } }
    const { status, body } = await patch(service, 1, '{"tag":null}', json)
    assert.deepEqual([status, body], [200, `{"id":1,"name":"${FIELDS.name}"}`])
  })
})

onEmpty('deleting a plant is 204 without a body, and removes the plant', async (service) => {
  await service.create(MONSTERA)
  await service.create({ ...MONSTERA, id: 2 })
  const answer = await service.send('DELETE', '/plants/1')
  assert.deepEqual([answer.status, answer.body], [204, ''])
  assert.deepEqual(await service.plants(), [{ id: 2n, name: FIELDS.name, tag: FIELDS.tag }])
  assert.equal(errorOf(await service.send('GET', '/plants/1')), 40402)
  assert.equal((await service.send('GET', '/plants')).body, JSON.stringify([{ ...MONSTERA, id: 2 }]))
})

suite('the body of a replace or an update', () => {
  const FAULTS: readonly [string, number, string][] = [
    ['', 40001, 'the body is empty; send a JSON object'],
    ['{', 40001, 'the body is not valid JSON, at position 1 (line 1 column 2)'],
    ['[{"op":"remove","path":"/tag"}]', 40002, 'the body must be an object'],
    ['null', 40002, 'the body must be an object'],
    ['"x"', 40002, 'the body must be an object'],
    ['{"id":2,"name":"x"}', 40002, 'id must be 1 as in the path, or left out'],
    [
      '{"id":null,"name":"\\u0000","tag":"\\ud800"}',
      40002,
      'id must be 1 as in the path, or left out; name must not contain U+0000 or a lone surrogate; tag must not contain U+0000 or a lone surrogate',
    ],
    ['{"name":"x","tag":"x","tag":null}', 40002, 'the body has tag more than once; send each member once'],
    [`{"name":"x","a":${'['.repeat(32)}${']'.repeat(32)}}`, 40001, 'the body is nested more than 32 levels deep'],
  ]
  const OF_ONE: readonly [typeof put, string, string][] = [
    [put, '{}', 'name is required'],
    [put, '{"name":7,"tag":null}', 'name must be a string; tag must be a string'],
    [patch, '{"name":null}', 'name must be a string'],
    [patch, '{"name":{"a":null},"tag":{"a":null}}', 'name must be a string; tag must be a string or null'],
  ]

  onEmpty('is refused with every fault if it is invalid, and changes nothing', async (service) => {
    await put(service, 1, FIELDS)
    const all = [
      ...FAULTS.flatMap((fault) => [put, patch].map((write) => [write, ...fault] as const)),
      ...OF_ONE.map(([write, body, message]) => [write, body, 40002, message] as const),
    ]
    for (const [write, body, number, message] of all) {
      assertRefused(await write(service, 1, body), number, message)
    }
    assert.equal(errorOf(await put(service, 1, Buffer.from('{"name":"\xff"}', 'latin1'))), 40001)
    assert.deepEqual(await service.plants(), [{ id: 1n, ...FIELDS }])
  })

  onEmpty('is 41501 with another media type, and the answer names the supported ones', async (service) => {
    await put(service, 1, FIELDS)
    const kinds: readonly [typeof put, Readonly<Record<string, string>>][] = [
      [put, { 'Content-Type': 'application/merge-patch+json' }],
      [put, { 'Content-Encoding': 'gzip' }],
      [patch, { 'Content-Type': 'application/json-patch+json' }],
      [patch, { 'Content-Type': '' }],
    ]
    for (const [write, headers] of kinds) {
      const answer = await write(service, 1, '{"name":"x"}', { headers })
      assertRefused(answer, 41501)
      const supported = write === put ? 'application/json' : 'application/merge-patch+json, application/json'
      assert.equal(answer.headers[write === put ? 'accept' : 'accept-patch'], supported)
      assert.equal(answer.headers['accept-post'], undefined)
      const pattern = new RegExp(`send ${supported.replace(', ', ' or ').replace('+', '\\+')}, in UTF-8`)
      assert.match(messageOf(answer), pattern)
    }
    assert.equal(errorOf(await service.send('PUT', '/plants/1')), 41501)
    assert.deepEqual(await service.plants(), [{ id: 1n, ...FIELDS }])
  })
})

suite('preconditions of a write', () => {
  onEmpty('If-None-Match: * only creates, If-Match: * only replaces', async (service) => {
    const isAbsent = { headers: { 'If-None-Match': '*' } }
    const isPresent = { headers: { 'If-Match': '*' } }
    assert.equal(errorOf(await put(service, 1, FIELDS, isPresent)), 41201)
    assert.equal((await put(service, 1, FIELDS, isAbsent)).status, 201)
    assert.equal(errorOf(await put(service, 1, { name: 'y' }, isAbsent)), 41201)
    assert.equal((await put(service, 1, { name: 'z' }, isPresent)).status, 200)
    assert.deepEqual(await service.plants(), [{ id: 1n, name: 'z', tag: null }])
  })

  onEmpty('If-Match with the entity tag of a read holds until the next write, of each kind', async (service) => {
    const writes = {
      PUT: (sending: Sending) => put(service, 1, { name: 'mine' }, sending),
      PATCH: (sending: Sending) => patch(service, 1, { name: 'mine' }, sending),
      DELETE: (sending: Sending) => service.send('DELETE', '/plants/1', sending),
    }
    for (const [method, write] of Object.entries(writes)) {
      const before = (await put(service, 1, FIELDS)).headers.etag ?? ''
      const etag = (await put(service, 1, { name: 'other' })).headers.etag ?? ''
      for (const headers of [
        { 'If-Match': before },
        { 'If-Match': `W/${etag}` },
        { 'If-None-Match': `W/${etag}` },
        { 'If-None-Match': '*' },
      ]) {
        const answer = await write({ headers })
        assertRefused(answer, 41201)
        if ('If-Match' in headers) assert.match(messageOf(answer), /nothing was changed, read it again \(If-Match[;)]/)
      }
      assert.deepEqual(await service.plants(), [{ id: 1n, name: 'other', tag: null }])
      const held = method === 'PUT' ? { 'If-None-Match': before } : { 'If-Match': `"x", ${etag}` }
      assert.ok((await write({ headers: held })).status < 300, method)
    }
  })

  onEmpty('are not looked at where there is no plant: an update and a delete are 40402', async (service) => {
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-None-Match': '*' }]) {
      for (const answer of [
        await patch(service, 1, { name: 'x' }, { headers }),
        await service.send('DELETE', '/plants/1', { headers }),
      ]) {
        assertRefused(answer, 40402, 'there is no plant with the id 1')
      }
    }
    assert.deepEqual(await service.plants(), [])
  })
})
