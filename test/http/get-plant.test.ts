import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { errorOf, messageOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const MONSTERA = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' }

suite('reading a plant', () => {
  onEmpty('answers the whole plant, with its entity tag', async (service) => {
    const created = await service.create(MONSTERA)
    const answer = await service.send('GET', '/plants/1')
    assert.deepEqual([answer.status, answer.body], [200, JSON.stringify(MONSTERA)])
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers.etag, created.headers.etag, 'the entity tag of the create')
    assert.equal(answer.headers['cache-control'], 'private, no-cache')
  })

  onEmpty('omits an absent tag, and includes an empty tag', async (service) => {
    await service.create({ id: 1, name: '' })
    await service.create({ id: 2, name: '', tag: '' })
    assert.equal((await service.send('GET', '/plants/1')).body, '{"id":1,"name":""}')
    assert.equal((await service.send('GET', '/plants/2')).body, '{"id":2,"name":"","tag":""}')
  })

  onEmpty('is 40402 if there is none, whatever the preconditions', async (service) => {
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-None-Match': '*' }, { 'If-Match': '"x"' }]) {
      const answer = await service.send('GET', '/plants/7', { headers })
      assert.deepEqual([answer.status, errorOf(answer)], [404, 40402])
      assert.equal(messageOf(answer), 'there is no plant with the id 7')
    }
  })
})

suite('the id in a path', () => {
  onEmpty('must be plain decimal, percent-encoded or not', async (service) => {
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
        assert.equal(errorOf(answer), 40003, id)
        assert.match(messageOf(answer), /^id must be an integer from -9223372036854775808 to .*plain decimal/, id)
      }
    }
    assert.equal((await service.plants()).length, 2)
  })
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
      const answer = await service.send('GET', '/plants/1', { headers })
      assert.deepEqual([answer.status, errorOf(answer)], [412, 41201], value)
    }
    const both = { 'If-Match': etag, 'If-None-Match': etag }
    assert.equal((await service.send('GET', '/plants/1', { headers: both })).status, 304)
  })
})
