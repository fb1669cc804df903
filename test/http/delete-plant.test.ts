import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { patch } from '../support/exchanges.ts'
import { emptyService, errorOf, messageOf } from '../support/service.ts'

const MONSTERA = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' }

suite('deleting a plant', () => {
  test('is 204 without a body, and removes the plant', async () => {
    const service = await emptyService()
    await service.create(MONSTERA)
    await service.create({ ...MONSTERA, id: 2 })
    const answer = await service.send('DELETE', '/plants/1')
    assert.deepEqual([answer.status, answer.body], [204, ''])
    assert.deepEqual(await service.plants(), [{ id: 2n, name: MONSTERA.name, tag: MONSTERA.tag }])
    assert.equal(errorOf(await service.send('GET', '/plants/1')), 40402)
    assert.equal((await service.send('GET', '/plants')).body, JSON.stringify([{ ...MONSTERA, id: 2 }]))
  })

  test('is 40402 if there is none, and when repeated', async () => {
    const service = await emptyService()
    await service.create(MONSTERA)
    assert.equal((await service.send('DELETE', '/plants/1')).status, 204)
    for (const headers of [{}, { 'If-Match': '*' }, { 'If-None-Match': '*' }]) {
      const answer = await service.send('DELETE', '/plants/1', { headers })
      assert.deepEqual([answer.status, errorOf(answer)], [404, 40402])
      assert.equal(messageOf(answer), 'there is no plant with the id 1')
    }
  })

  test('with If-Match deletes only the version with that entity tag', async () => {
    const service = await emptyService()
    const { etag = '' } = (await service.create(MONSTERA)).headers
    const changed = await patch(service, 1, { tag: 'other' })
    for (const headers of [
      { 'If-Match': etag },
      { 'If-Match': `W/${changed.headers.etag}` },
      { 'If-None-Match': '*' },
    ]) {
      const answer = await service.send('DELETE', '/plants/1', { headers })
      assert.deepEqual([answer.status, errorOf(answer)], [412, 41201])
    }
    assert.equal((await service.plants()).length, 1)
    const headers = { 'If-Match': `"x", ${changed.headers.etag}` }
    assert.equal((await service.send('DELETE', '/plants/1', { headers })).status, 204)
  })
})
