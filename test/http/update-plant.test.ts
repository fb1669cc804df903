import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { patch } from '../support/exchanges.ts'
import { emptyService, errorOf, messageOf } from '../support/service.ts'

const MONSTERA = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' }

suite('updating a plant', () => {
  const CHANGES: readonly [string, object][] = [
    ['{"name":"Ficus"}', { id: 1, name: 'Ficus', tag: 'houseplant' }],
    ['{"name":""}', { id: 1, name: '', tag: 'houseplant' }],
    ['{"tag":"tree"}', { id: 1, name: MONSTERA.name, tag: 'tree' }],
    ['{"tag":""}', { id: 1, name: MONSTERA.name, tag: '' }],
    ['{"tag":null}', { id: 1, name: MONSTERA.name }],
    ['{"tag":null,"name":"x"}', { id: 1, name: 'x' }],
    ['{"id":1.0,"name":"x"}', { id: 1, name: 'x', tag: 'houseplant' }],
    ['{}', MONSTERA],
    ['{"id":1}', MONSTERA],
  ]

  for (const [body, after] of CHANGES) {
    test(`by ${body} changes only those members, and may be repeated`, async () => {
      const service = await emptyService()
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

  test('ignores unknown members, as a create does', async () => {
    const service = await emptyService()
    await service.create(MONSTERA)
    const answer = await patch(service, 1, '{"nmae":"x","colour":null,"__proto__":{"tag":"x"}}')
    assert.deepEqual([answer.status, answer.json], [200, MONSTERA])
  })

  test('that does not exist is 40402 and creates nothing', async () => {
    const service = await emptyService()
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-None-Match': '*' }]) {
      assert.equal(errorOf(await patch(service, 1, { name: 'x' }, { headers })), 40402)
    }
    assert.deepEqual(await service.plants(), [])
  })

  test('with If-Match changes only the version with that entity tag', async () => {
    const service = await emptyService()
    const { etag = '' } = (await service.create(MONSTERA)).headers
    assert.equal((await patch(service, 1, { tag: 'mine' }, { headers: { 'If-Match': etag } })).status, 200)
    for (const headers of [{ 'If-Match': etag }, { 'If-None-Match': '*' }]) {
      const answer = await patch(service, 1, { tag: 'late' }, { headers })
      assert.deepEqual([answer.status, errorOf(answer)], [412, 41201])
    }
    assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: 'mine' }])
  })
})

suite('the body of an update', () => {
  const FAULTS: readonly [string, number, string][] = [
    ['', 40001, 'the body is empty; send a JSON object'],
    ['{', 40001, 'the body is not valid JSON, at position 1 (line 1 column 2)'],
    ['null', 40002, 'the body must be an object'],
    ['[{"op":"remove","path":"/tag"}]', 40002, 'the body must be an object'],
    ['"x"', 40002, 'the body must be an object'],
    ['{"name":null}', 40002, 'name must be a string'],
    ['{"name":{"a":null},"tag":7}', 40002, 'name must be a string; tag must be a string or null'],
    ['{"tag":{"a":null}}', 40002, 'tag must be a string or null'],
    ['{"tag":"\\u0000"}', 40002, 'tag must not contain U+0000 or a lone surrogate'],
    ['{"id":2}', 40002, 'id must be 1 as in the path, or left out'],
    [
      '{"id":null,"name":"\\ud800"}',
      40002,
      'id must be 1 as in the path, or left out; name must not contain U+0000 or a lone surrogate',
    ],
    ['{"tag":"x","tag":null}', 40002, 'the body has tag more than once; send each member once'],
  ]

  test('is refused with every fault if it is invalid, and changes nothing', async () => {
    const service = await emptyService()
    await service.create(MONSTERA)
    for (const [body, number, message] of FAULTS) {
      const answer = await patch(service, 1, body)
      assert.deepEqual([errorOf(answer), messageOf(answer)], [number, message], body)
    }
    assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: MONSTERA.tag }])
  })

  test('is 41501 with another media type, and Accept-Patch names the supported ones', async () => {
    const service = await emptyService()
    await service.create(MONSTERA)
    for (const type of ['application/json-patch+json', 'text/plain', '']) {
      const answer = await patch(service, 1, '{"tag":null}', { headers: { 'Content-Type': type } })
      assert.deepEqual([answer.status, errorOf(answer)], [415, 41501], type)
      assert.equal(answer.headers['accept-patch'], 'application/merge-patch+json, application/json')
      assert.equal(answer.headers['accept-post'], undefined)
      assert.match(messageOf(answer), /send application\/merge-patch\+json or application\/json, in UTF-8/)
    }
    const right = { headers: { 'Content-Type': 'Application/Merge-Patch+JSON; charset=UTF-8' } }
    assert.equal((await patch(service, 1, '{}', right)).status, 200)
    assert.deepEqual(await service.plants(), [{ id: 1n, name: MONSTERA.name, tag: MONSTERA.tag }])
  })

  test('may be sent as application/json too', async () => {
    const service = await emptyService()
    await service.create(MONSTERA)
    const json = { headers: { 'Content-Type': 'application/json; charset=utf-8' } }
    const { status, body } = await patch(service, 1, '{"tag":null}', json)
    assert.deepEqual([status, body], [200, `{"id":1,"name":"${MONSTERA.name}"}`])
    assert.equal(errorOf(await patch(service, 1, '{"name":null}', json)), 40002)
  })
})
