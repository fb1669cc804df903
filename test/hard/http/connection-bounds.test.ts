import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newPlantJson } from '../../../src/domain/plant.ts'
import { TESTER } from '../../support/actor.ts'
import type { Scene } from '../../support/clean-up.ts'
import { movableTime } from '../../support/clock.ts'
import { tempFolder } from '../../support/files.ts'
import { fullPlants } from '../../support/full-plants.ts'
import { send } from '../../support/load.ts'
import { boundOf } from '../../support/long-work.ts'
import { isLinux, notTestedHere, systemBacklog } from '../../support/not-tested.ts'
import { startServer } from '../../support/process.ts'
import { answersIn, assertRefusal, RawConnection } from '../../support/raw.ts'
import { LIVE, untilNoConnection, whole } from '../../support/requests.ts'
import { boundIn, scrapeAt } from '../../support/scrape.ts'
import { SECRET, type Service, withService } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { clearTest } from '../../support/transport.ts'
import { happens, until } from '../../support/until.ts'

/** More connections than Node.js lets the system queue by default. */
const BURST = 700

async function opened(t: Scene, service: Service, bytes: string): Promise<RawConnection> {
  const connection = new RawConnection(service.port)
  t.after(() => void connection.socket.destroy())
  await happens(connection.socket, 'connect', 'the service accepts no connection')
  if (bytes !== '') connection.write(bytes)
  return connection
}

const create = (id: number): string => whole().replace('"id":1', `"id":${id}`)

/** Opens connections on which a create waits for the store. */
async function busy(t: Scene, service: Service, count: number): Promise<() => Promise<void>> {
  await service.create({ id: 0, name: 'so that the token is known' })
  await untilNoConnection(service)
  const release = await service.under.lock()
  for (let i = 1; i <= count; i++) {
    await opened(t, service, create(i))
    await until(() => service.under.store.writes.queues[0].rows.used >= i, `${i} creates do not wait for the store`)
  }
  return release
}

suite('connections beyond the bound', () => {
  test('replace connections that never sent a request, oldest first, then idle ones', async (t) => {
    const service = await withService(t, { maxConnections: '3' })
    const [oldest, silent, idle] = await Promise.all(['', '', `${LIVE}\r\n`].map((bytes) => opened(t, service, bytes)))
    await idle?.until('"live"')
    await opened(t, service, '')
    await oldest?.untilClosed()
    assert.equal((await service.send('GET', '/health/live')).status, 200)
    await silent?.untilClosed()
    assert.equal(idle?.socket.closed, false, 'a connection with a request goes after those without')
  })

  clearTest('replace the connection that has been idle for longest, if for at least a second', async (t) => {
    const service = await withService(t, { maxConnections: '3' })
    const move = movableTime(t)
    const open = () => opened(t, service, '')
    const [first, second, third] = [await open(), await open(), await open()]
    for (const connection of [second, third, first]) {
      connection.write(`${LIVE}\r\n`)
      await connection.until('"live"')
    }
    move(1100)
    const another = await opened(t, service, `${LIVE}\r\n`)
    await another.until('"live"')
    await second.untilClosed()
    assert.deepEqual([first.socket.closed, third.socket.closed], [false, false])
  })

  clearTest('do not replace a connection that got an answer within the last second', async (t) => {
    const service = await withService(t, { maxConnections: '1' })
    const active = await opened(t, service, `${LIVE}\r\n`)
    // On a busy machine, the next connection may take longer than the second in which this one is not replaced.
    const { now } = performance
    const frozen = performance.now()
    const { mock } = t.mock.method(performance, 'now', () => frozen)
    await active.until('"live"')
    const another = await opened(t, service, `${LIVE}Connection: close\r\n\r\n`)
    const [answer] = answersIn(await another.untilClosed())
    mock.mockImplementation(now.bind(performance))
    assert.equal(answer?.status, 503)
    active.socket.destroy()
    await untilNoConnection(service)
  })

  onService('are refused with 50302 while all connections are busy', { maxConnections: '3' }, async (service, t) => {
    const release = await busy(t, service, 3)
    const refused = await opened(t, service, `${LIVE}\r\n`)
    const [answer] = answersIn(await refused.untilClosed())
    await release()
    assert.deepEqual([answer?.status, answer?.headers['retry-after']], [503, '1'])
    assert.match(answer?.body ?? '', /"error":50302,"message":"too many connections are open/)
  })

  clearTest('of one address alone are refused with 42901', async (t) => {
    const service = await withService(t, { maxAddressConnections: '3' })
    const release = await busy(t, service, 3)
    const refused = await opened(t, service, `${LIVE}\r\n`)
    const answers = answersIn(await refused.untilClosed())
    await release()
    assert.deepEqual(assertRefusal(answers), { status: 429, error: 42901 })
    assert.equal(answers[0]?.headers['retry-after'], '1')
  })

  clearTest('get an answer, eight of them at a time, and are otherwise closed without one', async (t) => {
    const service = await withService(t, { maxConnections: '3' })
    const release = await busy(t, service, 3)
    let told = 0
    // On a slow machine, the first refused connections may time out before the last one arrives.
    for (let round = 0; round < 10 && told !== 8; round++) {
      const refused = await Promise.all(Array.from({ length: 20 }, () => opened(t, service, '')))
      let closed = 0
      for (const { socket } of refused) socket.once('close', () => closed++)
      await until(
        () => closed >= 12,
        () => `${closed} connections are closed without an answer, not 12`,
      )
      for (const connection of refused) if (!connection.socket.closed) connection.write(`${LIVE}\r\n`)
      const received = await Promise.all(refused.map((connection) => connection.untilClosed()))
      told = received.filter((bytes) => bytes.includes('"error":50302')).length
      assert.ok(told <= 8, `${told}`)
    }
    await release()
    assert.equal(told, 8)
  })

  clearTest('are closed after a second if they send nothing, whatever a request may take', async (t) => {
    const service = await withService(t, { maxConnections: '3', requestTimeout: '0s' })
    const release = await busy(t, service, 3)
    const refused = await opened(t, service, '')
    assert.equal((await refused.untilClosed()).length, 0)
    await release()
  })

  clearTest('of one address are accepted if it is a trusted proxy', async (t) => {
    const service = await withService(t, { maxAddressConnections: '3', trustedProxies: '127.0.0.1' })
    const release = await busy(t, service, 3)
    assert.equal((await service.send('GET', '/health/live')).status, 200)
    await release()
  })
})

/** A service with a low limit of open files, and a function that reads one of its metrics. */
async function withFewDescriptors(t: TestContext, most: number) {
  const { address } = await startServer(t, tempFolder(t), [], {
    under: ['bash', '-c', `ulimit -n ${most} && exec "$@"`, 'bash'],
  })
  const limit = async () => boundIn((await scrapeAt(address)).text, 'max-connections', 'limit')
  return { address, limit }
}

clearTest('a burst of connections waits while the service is busy, and none of them is reset', async (t) => {
  if (systemBacklog() < 2 * BURST) return notTestedHere(t, 'a burst, because the system lets too few connections wait')
  const { program, address } = await startServer(t, tempFolder(t))
  program.signal('SIGSTOP')
  const burst = Array.from({ length: BURST }, () => new RawConnection(Number(new URL(address).port)))
  t.after(() => burst.forEach(({ socket }) => void socket.destroy()))
  // The system completes these connections while the service is paused, up to the length of its queue.
  await Promise.all(burst.map(({ socket }) => once(socket, 'connect')))
  for (const connection of burst) connection.write(`${LIVE}Connection: close\r\n\r\n`)
  program.signal('SIGCONT')
  const answers = await Promise.all(burst.map((connection) => connection.untilClosed()))
  assert.equal(answers.filter((bytes) => bytes.includes('"live"')).length, BURST)
})

clearTest('silent connections leave descriptors to the store, and make room for one that sends requests', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of open files, because only Linux tells it')
  const { address, limit } = await withFewDescriptors(t, 128)
  const silent = Array.from({ length: 500 }, () => new RawConnection(Number(new URL(address).port)))
  t.after(() => silent.forEach(({ socket }) => void socket.destroy()))
  await Promise.all(silent.map(({ socket }) => socket.readyState === 'open' || once(socket, 'connect').catch(() => {})))
  for (let id = 0; id < 3; id++) {
    assert.equal((await send('POST', `${address}/plants`, { body: `{"id":${id},"name":"a"}` })).status, 200)
  }
  for (const path of ['/plants/export', '/plants?q=a', '/health/ready']) {
    assert.equal((await send('GET', `${address}${path}`)).status, 200, path)
  }
  assert.equal(await limit(), 64, 'half of the limit of open files')
})

clearTest('connections leave 256 open files to the store where the process may open many', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of open files, because only Linux tells it')
  const { limit } = await withFewDescriptors(t, 600)
  assert.equal(await limit(), 344)
})

suite('requests that wait behind others of their connection', () => {
  test('are refused if they take too much memory, after the answer in progress', async (t) => {
    const service = await withService(t, { pipelineLimit: 64 * 2 ** 10 })
    const release = await busy(t, service, 1)
    const few = await opened(t, service, `${create(5)}${LIVE}\r\n`)
    const many = await opened(t, service, `${LIVE}\r\n`.repeat(200))
    const answers = answersIn(await many.untilClosed())
    await release()
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(statuses, [200, 503])
    assert.match(answers[1]?.body ?? '', /"error":50302/)
    await few.until('"live"')
    assert.equal(await boundOf(service, 'pipeline-limit'), 0)
  })
})

suite('an unread answer', () => {
  const PLANTS = fullPlants(600, { unit: '🌱' })
  /** Bytes of an answer with all plants. */
  const PAGE = Buffer.byteLength(`[${PLANTS.map(newPlantJson).join(',')}]`)
  const LIST = `GET /plants?limit=600 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`

  async function withLargePlants(t: Scene, flags: Parameters<typeof withService>[1]): Promise<Service> {
    const service = await withService(t, flags)
    await service.store.importPlants(PLANTS, 'add', TESTER)
    return service
  }

  /** Sends so many requests that the answers exceed the buffers of the system, and reads nothing. */
  async function unread(t: Scene, service: Service): Promise<RawConnection> {
    const connection = await opened(t, service, LIST.repeat(10))
    connection.socket.pause()
    return connection
  }

  test('is cut off if its client reads nothing for the stall timeout', async (t) => {
    const service = await withLargePlants(t, { stallTimeout: '400ms' })
    await unread(t, service)
    await untilNoConnection(service)
    assert.equal(await boundOf(service, 'unread-limit', 'refused_total'), 1)
    assert.equal(await boundOf(service, 'unread-limit'), 0)
    assert.match(service.log, /"operation":"listPlants".*"brokenOff":true,"status":408,"error":40801/)
  })

  test('is cut off if its client stays below the least speed', async (t) => {
    const service = await withLargePlants(t, { stallTimeout: '1s', leastSpeed: 100 * 2 ** 20 })
    const connection = await unread(t, service)
    // Reads one chunk at a time, however long a turn of the event loop takes.
    const reading = setInterval(() => connection.socket.once('data', () => connection.socket.pause()).resume(), 200)
    t.after(() => clearInterval(reading))
    await until(async () => (await boundOf(service, 'unread-limit', 'refused_total')) === 1, 'no answer is cut off')
  })

  // Over TLS, the sockets do not tell what the client has taken.
  clearTest('stays if its client reads well, and a further large answer is refused instead', async (t) => {
    const now = performance.now.bind(performance)
    let ahead = 0
    t.mock.method(performance, 'now', () => now() + ahead)
    t.mock.timers.enable({ apis: ['setInterval'] })
    const service = await withLargePlants(t, { unreadLimit: 1.4 * PAGE })
    const accepted = once(service.server, 'connection')
    const reader = await unread(t, service)
    const [socket] = (await accepted) as [Socket]
    const taken = () => socket.bytesWritten - socket.writableLength
    let refused = 0
    for (let second = 1; second <= 5; second++) {
      await until(() => socket.writableLength > 0, 'the answers do not wait for their client')
      const before = taken()
      // One chunk at a time, so that the client does not read all answers at once.
      const reads = () => {
        reader.socket.once('data', () => reader.socket.pause()).resume()
        return taken() > before
      }
      await until(reads, 'the client reads nothing')
      await until(() => socket.writableLength > 0, 'the answers do not wait for their client again')
      ahead += 1000
      t.mock.timers.tick(1000)
      const { status } = await service.send('GET', '/plants?limit=600')
      if (status === 503) refused++
    }
    assert.ok(refused > 0, 'no further answer was refused')
    assert.equal(await boundOf(service, 'unread-limit', 'refused_total'), 0)
    reader.socket.resume()
    await until(() => reader.received.split('HTTP/1.1 200 ').length === 11, 'the client does not get ten answers')
  })

  test('is cut off or refused if all together take too much memory, and other clients are served', async (t) => {
    const service = await withLargePlants(t, { unreadLimit: 1.1 * PAGE })
    await Promise.all([1, 2, 3, 4].map(() => unread(t, service)))
    let status = 503
    // The refusal asks for a retry in a second. By then the service has cut off an unread answer.
    for (let tries = 0; status === 503 && tries < 15; tries++) {
      await sleep(1000)
      assert.ok((await boundOf(service, 'unread-limit')) <= 1.1 * PAGE)
      status = (await service.send('GET', '/plants/1')).status
    }
    assert.equal(status, 200)
  })
})
