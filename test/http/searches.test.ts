import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { boundOf, untilIdle } from '../support/long-work.ts'
import { RawConnection } from '../support/raw.ts'
import { type Answer, errorOf, SECRET } from '../support/service.ts'
import { SLOW, searchHead, withSlowSearches } from '../support/slow-searches.ts'
import { until } from '../support/until.ts'
import { words } from '../support/words.ts'

suite('searches', () => {
  test('end when their client leaves, and its queued searches do not begin', async (t) => {
    const service = await withSlowSearches(t)
    const other = await service.issueToken(['plants:read'])
    const connections = Array.from({ length: 20 }, () => new RawConnection(service.port, searchHead().repeat(30)))
    await connections[0]?.until('HTTP/1.1 200 OK')
    for (const { socket } of connections) socket.destroy()
    const found = await service.send('GET', SLOW, { authorization: `Bearer ${other.secret}` })
    assert.equal(found.status, 200)
    await untilIdle(service, 'search')
    const { body } = await service.send('GET', '/metrics')
    const answered = /plantstore_http_requests_total\{operation="listPlants",status="200"\} (\d+)/.exec(body)
    assert.ok(Number(answered?.[1]) < 500, `${answered?.[1]} of 600 were answered though their client had left`)
  })

  test('of one token take turns with those of another token, however many there are', async (t) => {
    const service = await withSlowSearches(t, { maxSearches: '1', searchTimeout: '10m' })
    const other = await service.issueToken(['plants:read'])
    // A count is a search, too: with words, it looks at up to 2,001 plants.
    for (const path of [SLOW, '/plants?q=x&tagPrefix=-&limit=1&count=true']) {
      let answered = 0
      const many = Array.from({ length: 64 }, async () => {
        const { status } = await service.send('GET', path)
        answered++
        return status
      })
      const waiting = () => boundOf(service, 'search-queue')
      await until(async () => (await waiting()) >= 10, 'ten searches do not wait')
      const before = answered
      const found = await service.send('GET', path, { authorization: `Bearer ${other.secret}` })
      assert.equal(found.status, 200)
      // The running search, one before the turn of the other token, and some whose answers arrive late.
      assert.ok(answered - before <= 16, `${answered - before} came before it`)
      assert.deepEqual(new Set(await Promise.all(many)), new Set([200]))
    }
  })

  test('beyond the queue are refused with the number of the bound', async (t) => {
    const flags = { maxSearches: '1', searchQueue: 8, searchTimeout: '10m' }
    const service = await withSlowSearches(t, { ...flags, searchQueuePerToken: 8 })
    const other = await service.issueToken(['plants:read'])
    const search = (secret: string) => service.send('GET', SLOW, { authorization: `Bearer ${secret}` })
    const answers: Answer[] = []
    const count = (number: number) =>
      answers.filter((answer) => answer.status !== 200 && errorOf(answer) === number).length
    for (let round = 0; round < 50 && (count(42901) === 0 || count(50302) === 0); round++) {
      const secrets = round % 2 === 0 ? [SECRET] : [SECRET, other.secret]
      answers.push(...(await Promise.all(Array.from({ length: 40 }, () => secrets.map(search)).flat())))
    }
    assert.ok(count(42901) > 0 && count(50302) > 0)
    for (const { status, headers } of answers) if (status !== 200) assert.equal(headers['retry-after'], '1')
    assert.equal(await boundOf(service, 'search-queue', 'refused_total'), count(42901) + count(50302))
  })

  test('beyond their deadline are refused with 50302, even queued ones', async (t) => {
    const flags = { maxSearches: '1', searchTimeout: '100ms' }
    const service = await withSlowSearches(t, flags, 30_000)
    const answers = await Promise.all(Array.from({ length: 60 }, () => service.send('GET', SLOW)))
    const refused = answers.filter(({ status }) => status !== 200)
    assert.ok(refused.length > 0)
    for (const answer of refused) {
      assert.equal(errorOf(answer), 50302)
      assert.match(answer.body, /the search took longer than 0\.1 s/)
    }
    await untilIdle(service, 'search')
  })

  test('are all lists and counts of tags, except short pages by id', async (t) => {
    const flags = { maxSearches: '1', searchQueue: 1, searchTimeout: '10m' }
    const service = await withSlowSearches(t, { ...flags, searchQueuePerToken: 1 })
    const status = async (path: string) => (await service.send('GET', path)).status
    let isOver = false
    const busy = Array.from({ length: 4 }, async () => {
      while (!isOver) await status(SLOW)
    })
    for (const path of words`
      /plants?limit=1000 /plants?sort=name /plants?tag=x /plants?q=x /plants?count=true /tags
    `) {
      let tries = 0
      while ((await status(path)) === 200) assert.ok(++tries < 200, `${path} is never refused`)
    }
    for (const path of ['/plants/1', '/plants', '/plants?limit=199&sort=-id']) {
      for (let tries = 0; tries < 20; tries++) assert.equal(await status(path), 200, path)
    }
    isOver = true
    await Promise.all(busy)
  })
})
