import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { ChangeLog } from '../../src/domain/changes.ts'
import { ChangeStreams } from '../../src/http/changes/change-streams.ts'
import { TESTER } from '../support/actor.ts'
import { type EventStream, openStream } from '../support/event-stream.ts'
import { fullPlants } from '../support/full-plants.ts'
import { boundOf, MUCH, untilRunning } from '../support/long-work.ts'
import { pluck } from '../support/pluck.ts'
import { RawConnection } from '../support/raw.ts'
import { SECRET, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { settled, until } from '../support/until.ts'

const names = ({ entries }: EventStream) => entries.map(({ plant, before }) => (plant ?? before)?.name)

const create = (service: Service, id: number, name = `plant ${id}`, tag?: string) =>
  service.store.importPlants([plant(BigInt(id), name, tag)], 'update', TESTER)

const HEAD = `GET /changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET}\r\nAccept: text/event-stream\r\n\r\n`

suite('a stream of changes', () => {
  onService('begins with the time to connect again, and has an event for each entry', async (service) => {
    await create(service, 1, 'with a\nline')
    const stream = await openStream(service, '/changes', { headers: { 'Accept-Encoding': 'zstd, br, gzip' } })
    const { status, headers } = stream
    assert.deepEqual([status, headers['content-type']], [200, 'text/event-stream'])
    assert.deepEqual([headers['content-encoding'], headers['link']], [undefined, undefined])
    assert.deepEqual([headers['cache-control'], headers['x-accel-buffering']], ['no-store, no-transform', 'no'])
    await stream.until(1)
    await create(service, 2)
    await service.send('DELETE', '/plants/1')
    assert.deepEqual(pluck(await stream.until(3), 'type'), ['plant.created', 'plant.created', 'plant.deleted'])
    assert.deepEqual(pluck(stream.events, 'names'), [['retry'], ['id', 'data'], ['id', 'data'], ['id', 'data']])
    assert.deepEqual(stream.entries, (await service.send('GET', '/changes')).json)
    stream.close()
  })

  onService('resumes after Last-Event-ID, which wins over `after`', async (service) => {
    for (let id = 1; id <= 3; id++) await create(service, id)
    const first = await openStream(service)
    const [one, two] = await first.until(3)
    first.close()
    const headers = { 'Last-Event-ID': two?.position ?? '' }
    const again = await openStream(service, `/changes?after=${one?.position}`, { headers })
    await again.until(1)
    const late = await openStream(service, '/changes?after=now')
    await until(() => late.events.length === 1, 'the stream does not give its position')
    await create(service, 4)
    assert.deepEqual(names({ entries: await again.until(2) } as EventStream), ['plant 3', 'plant 4'])
    assert.deepEqual(names({ entries: await late.until(1) } as EventStream), ['plant 4'])
    assert.ok((late.events[0]?.id ?? '') >= (again.entries[0]?.position ?? ''))
    for (const stream of [again, late]) stream.close()
  })

  onService('with tags has the same events as one without, for every id and text', async (service) => {
    const tag = 'a "tag"\n\ndata: {}\u2028\u2029\u0085'
    await create(service, 1, 'first')
    const paths = [`/changes?tag=${encodeURIComponent(tag)}`, '/changes']
    const [filtered, whole] = (await Promise.all(paths.map((path) => openStream(service, path)))) as [
      EventStream,
      EventStream,
    ]
    await whole.until(1)
    const plants = [2n ** 63n - 1n, 2n, -(2n ** 53n) - 1n].map((id) =>
      plant(id, `a\n\n${id}`, id > 9 ? tag : undefined),
    )
    await service.store.importPlants(plants, 'update', TESTER)
    await service.store.importPlants([plant(2n, 'ñ', tag), plant(3n, 'no tag')], 'update', TESTER)
    await whole.until(6)
    await filtered.until(2)
    const wanted = whole.events.filter(({ data = '{}' }) => JSON.parse(data).plant?.tag === tag)
    assert.deepEqual(filtered.events.slice(-2), wanted)
    // Readers of lines, such as those of Python, end one at these, too.
    for (const { data = '' } of wanted) assert.doesNotMatch(data, /[\u0085\u2028\u2029]/)
    assert.ok(wanted[0]?.data?.includes(`"id":${2n ** 63n - 1n},`))
    for (const stream of [filtered, whole]) stream.close()
  })

  onService('gives every stream each of many changes once, in order, whenever it begins', async (service) => {
    const write = async () => {
      for (let i = 0; i < 300; i++) {
        await Promise.all([create(service, i), create(service, 1000 + (i % 10), `version ${i}`)])
      }
    }
    const writing = write()
    const streams: EventStream[] = []
    for (let i = 0; i < 8; i++) {
      streams.push(await openStream(service, i % 2 === 0 ? '/changes' : '/changes?tag=none&after=now'))
    }
    await writing
    const all = (await service.send('GET', '/changes?limit=1000')).json
    for (const [i, stream] of streams.entries()) {
      if (i % 2 === 0) await stream.until(600)
      assert.deepEqual(stream.entries, i % 2 === 0 ? all : [])
      stream.close()
    }
  })

  test('without an entry sends its position alone, which moves past filtered entries', async (t) => {
    const service = await withService(t, { storeTimeout: '1m' })
    await create(service, 1)
    const stream = await openStream(service, '/changes?tag=none&after=now')
    await until(() => stream.events.length === 1, 'the stream does not give its position')
    await create(service, 2)
    const now = performance.now.bind(performance)
    // Each sign of life lets the next one come at once.
    t.mock.method(performance, 'now', () => now() + stream.events.length * 15_000)
    const hasMoved = () => (stream.events.at(-1)?.id ?? '') > (stream.events[0]?.id ?? '')
    await until(hasMoved, 'no sign of life has a position behind the filtered entry')
    const [start, beat] = [stream.events[0], stream.events.at(-1)]
    assert.deepEqual([start?.names, beat?.names], [['retry', 'id'], ['id']])
    const again = await openStream(service, '/changes', { headers: { 'Last-Event-ID': beat?.id ?? '' } })
    await create(service, 3)
    assert.deepEqual(names({ entries: await again.until(1) } as EventStream), ['plant 3'])
    for (const each of [stream, again]) each.close()
  })

  test('is refused before it begins: a bad position, a position of another store, bad parameters', async (t) => {
    const [service, other] = [await withService(t), await withService(t)]
    await create(other, 1)
    const foreign = (await other.store.changes?.end()) ?? ''
    for (const [path, headers, status] of [
      ['/changes?after=x', {}, 400],
      ['/changes?since=x', {}, 400],
      ['/changes', { 'Last-Event-ID': 'x' }, 400],
      ['/changes', { 'Last-Event-ID': foreign }, 410],
      [`/changes?after=${foreign}`, {}, 410],
    ] as const) {
      const stream = await openStream(service, path, { headers })
      await stream.untilEnded()
      assert.deepEqual([stream.status, stream.headers['content-type']], [status, 'application/json'], path)
      if (status === 410) assert.equal(stream.headers['link'], '</changes?limit=100>; rel="first"')
    }
  })

  onService('answers HEAD without a stream', async (service) => {
    const asked = { headers: { Accept: 'text/event-stream' } }
    const { status, headers, body } = await service.send('HEAD', '/changes', asked)
    assert.deepEqual([status, headers['content-type'], body], [200, 'text/event-stream', ''])
    await untilRunning(service, 'stream', 0)
  })

  onService('ends when its token is revoked, when it expires, and when the service stops', async (service, t) => {
    const revoked = await service.issueToken(['plants:read'])
    const expiry = Date.now() + 600_000
    const expiring = await service.issueToken(['plants:read'], new Date(expiry))
    const streams = await Promise.all(
      [revoked.secret, expiring.secret, SECRET].map((secret) => openStream(service, '/changes', { secret })),
    )
    await service.store.tokens.revokeToken(revoked.token.id)
    await streams[0]?.untilEnded()
    assert.equal(streams[1]?.hasEnded, false)
    t.mock.timers.enable({ apis: ['Date'], now: expiry })
    await streams[1]?.untilEnded()
    assert.equal(streams[2]?.hasEnded, false)
    service.state.current = 'draining'
    await streams[2]?.untilEnded()
    await settled(service.stop(), 'a stream holds the stop back')
  })
})

suite('streams of changes', () => {
  test('never go back: one that joins the read of another, from an earlier position, gets no event twice', async (t) => {
    const { store } = await withService(t)
    const log = store.changes ?? assert.fail()
    const write = (id: number) => store.importPlants([plant(BigInt(id))], 'update', TESTER)
    const held = Promise.withResolvers<void>()
    const hasRead = Promise.withResolvers<void>()
    /** The first read at the end that finds something comes late. */
    const late: ChangeLog = {
      end: () => log.end(),
      usage: () => log.usage(),
      history: (...given) => log.history(...given),
      newest: (...given) => log.newest(...given),
      async read(...given) {
        const page = await log.read(...given)
        if (page.entries.length > 0) {
          hasRead.resolve()
          await held.promise
        }
        return page
      },
    }
    const ending = new AbortController()
    t.after(() => ending.abort())
    const streams = new ChangeStreams(late, { current: 'serving' }, ending.signal)
    const after = await log.end()
    const joined = Promise.withResolvers<void>()
    const follow = async (count: number, onPiece: (ids: readonly string[]) => unknown) => {
      const ids: string[] = []
      for await (const piece of streams.events(after, { tags: [] }, (request) => log.read(request), ending.signal)) {
        ids.push(...(String(piece).match(/(?<=^data: .*"id":)\d+/gm) ?? []))
        onPiece(ids)
        if (ids.length >= count) return ids
      }
      return ids
    }
    const begun = Promise.withResolvers<void>()
    const first = follow(3, () => begun.resolve())
    await begun.promise
    await turn()
    await write(1)
    await hasRead.promise
    await write(2)
    const second = follow(3, (ids) => ids.length === 2 && joined.resolve())
    await joined.promise
    await turn()
    held.resolve()
    await write(3)
    for (const ids of await Promise.all([first, second])) assert.deepEqual(ids, ['1', '2', '3'])
  })

  onService('are bounded: ten of a token, and a hundred of all', async (service) => {
    const secrets = await Promise.all(
      Array.from({ length: 11 }, async () => (await service.issueToken(['plants:read'])).secret),
    )
    const openAll = (owners: readonly string[]) =>
      Promise.all(owners.map((secret) => openStream(service, '/changes', { secret })))
    const tenOf = (secret: string) => openAll(Array.from({ length: 10 }, () => secret))
    const [first = '', last = ''] = [secrets[0], secrets.at(-1)]
    const open: EventStream[] = []
    for (const secret of secrets.slice(0, -1)) open.push(...(await tenOf(secret)))
    for (const { status } of open) assert.equal(status, 200)
    for (let tries = 0; tries < 1000; tries += 20) {
      const refused = await openAll([...Array(10).fill(first), ...Array(10).fill(last)])
      assert.deepEqual(pluck(refused, 'status'), [...Array(10).fill(429), ...Array(10).fill(503)])
    }
    await create(service, 1)
    for (const stream of open) await stream.until(1)
    for (const stream of open) stream.close()
    await untilRunning(service, 'stream', 0)
    for (const stream of await tenOf(last)) {
      assert.equal(stream.status, 200)
      stream.close()
    }
  })

  test('hold at most 100 events', async (t) => {
    const { store } = await withService(t)
    const log = store.changes ?? assert.fail()
    const ending = new AbortController()
    t.after(() => ending.abort())
    const write = (text: string) =>
      importMany(store, 400, (i) => plant(2n ** 63n - 1000n + BigInt(i), text.repeat(60), text), 'update')
    await write('\u0001')
    const streams = new ChangeStreams(log, { current: 'serving' }, ending.signal)
    const read = log.read.bind(log)
    let events = 0
    let isAtEnd = false
    for await (const piece of streams.events(undefined, { tags: [] }, read, ending.signal)) {
      const count = String(piece).split('\ndata: ').length - 1
      assert.ok(count <= 100, `${count} events`)
      events += count
      if (events === 400 && !isAtEnd) {
        isAtEnd = true
        await write('\u0002')
      }
      if (events === 800) break
    }
  })

  test('that are not read count as unread answers, and the slowest are cut off for others', async (t) => {
    const unreadLimit = 2 ** 19
    const service = await withService(t, { unreadLimit })
    for (let from = 0; from < MUCH; from += 1000) {
      await service.store.importPlants(fullPlants(1000, { from }), 'add', TESTER)
    }
    const unread = Array.from({ length: 10 }, () => new RawConnection(service.port, HEAD))
    for (const { socket } of unread) socket.pause()
    await until(() => service.log.includes('too many answers wait for slow clients'), 'no stream is cut off')
    // The others keep their memory for as long as no stream needs it, and a moment longer.
    let reading = await openStream(service)
    await until(async () => {
      if (reading.status === 200) return true
      assert.equal(reading.status, 503)
      reading = await openStream(service)
      return false
    }, 'no further stream begins')
    await reading.until(1000)
    reading.close()
    for (const { socket } of unread) socket.destroy()
    await until(async () => (await boundOf(service, 'unread-limit')) === 0, 'streams that ended still count')
  })

  test('that are not read hold a position and little memory, are cut off, and others go on', async (t) => {
    const service = await withService(t, { stallTimeout: '2s' })
    const unread = Array.from({ length: 8 }, () => new RawConnection(service.port, HEAD))
    for (const { socket } of unread) socket.pause()
    const left = new RawConnection(service.port, HEAD)
    await untilRunning(service, 'stream', 9)
    left.socket.destroy()
    const reading = await openStream(service)
    for (let from = 0; from < 16_000; from += 800) {
      await service.store.importPlants(fullPlants(800, { from }), 'add', TESTER)
    }
    await reading.until(16_000)
    assert.deepEqual(new Set(reading.entries.map(({ position }) => position)).size, 16_000)
    // The service ends them, because they read nothing.
    await untilRunning(service, 'stream', 1)
    for (const connection of unread) connection.socket.destroy()
    reading.close()
  })
})

// In a file of its own, as it runs on one engine: its steps of the clock would end the time of a statement of PostgreSQL.
onService('a stream of changes ends by itself after an hour, give or take a tenth', async (service, t) => {
  const now = performance.now.bind(performance)
  let ahead = 0
  t.mock.method(performance, 'now', () => now() + ahead)
  const stream = await openStream(service, '/changes?after=now')
  await until(() => stream.events.length === 1, 'the stream does not give its position')
  ahead = 53 * 60_000
  // After the 15 seconds, too, so that a sign of life shows that the stream has looked at the clock.
  await until(() => stream.events.length === 2, 'the stream gives no sign of life')
  assert.equal(stream.hasEnded, false)
  ahead = 66 * 60_000
  await stream.untilEnded()
  assert.equal(stream.isComplete, true)
})
