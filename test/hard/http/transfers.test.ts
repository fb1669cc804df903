import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  beginImport,
  chunk,
  type ImportOutcome,
  importHead,
  LAST_CHUNK,
  NDJSON,
  outcomeOf,
  rowsFrom,
  untilStored,
} from '../../support/import.ts'
import { exportHead, untilIdle, withMuch } from '../../support/long-work.ts'
import { isLinux, notTestedHere } from '../../support/not-tested.ts'
import { answersIn, RawConnection, raw } from '../../support/raw.ts'
import { LIVE, untilNoConnection } from '../../support/requests.ts'
import { SECRET, type Service, withService } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { clearTest } from '../../support/transport.ts'
import { happens, settled, until } from '../../support/until.ts'

/** Begins an export whose client stops reading after the beginning. */
async function stalledExport(service: Service, bytes = exportHead('Connection: close')): Promise<RawConnection> {
  const connection = new RawConnection(service.port)
  connection.write(bytes)
  await connection.until('{"id":0,')
  connection.socket.pause()
  return connection
}

const metric = async (service: Service, status: number): Promise<number> => {
  const { body } = await service.send('GET', '/metrics')
  const line = new RegExp(`plantstore_http_requests_total\\{operation="exportPlants",status="${status}"\\} (\\d+)`)
  return Number(line.exec(body)?.[1] ?? 0)
}

suite('a long export', () => {
  test('is completed when the service shuts down, and its connection closes then', async (t) => {
    // The service keeps an idle connection open for longer than the test waits.
    const service = await withMuch(t, { keepAliveTimeout: '10m' })
    const alone = await stalledExport(service, exportHead())
    const followed = await stalledExport(service, `${exportHead()}${LIVE}\r\n`)
    const stopped = service.stop()
    for (const { socket } of [alone, followed]) socket.resume()
    assert.ok((await alone.untilClosed()).toString().endsWith('\r\n0\r\n\r\n'))
    const [, behind = ''] = (await followed.untilClosed()).toString().split('\r\n0\r\n\r\n')
    assert.match(behind, /^HTTP\/1\.1 503 .*"error":50303/s)
    await stopped
  })

  test('breaks off visibly for its client if the store fails', async (t) => {
    const service = await withMuch(t)
    const connection = await stalledExport(service)
    await service.store.close()
    connection.socket.resume()
    const received = (await connection.untilClosed()).toString()
    assert.ok(received.startsWith('HTTP/1.1 200 OK\r\n'))
    assert.ok(!received.endsWith('\r\n0\r\n\r\n'), 'the last chunk is missing')
    assert.match(service.log, /"brokenOff":true,"status":503,"error":50303/)
    assert.equal(await metric(service, 503), 1)
  })

  test('breaks off if its client reads nothing for too long', async (t) => {
    const service = await withMuch(t, { stallTimeout: '300ms' })
    const connection = await stalledExport(service)
    await untilNoConnection(service)
    connection.socket.resume()
    const received = (await connection.untilClosed()).toString()
    assert.ok(!received.endsWith('\r\n0\r\n\r\n'), 'the last chunk is missing')
    assert.equal(await metric(service, 408), 1)
  })

  clearTest('counts as 499 if its client has left, and has freed its place by then', async (t) => {
    const service = await withMuch(t, { maxExports: '1' })
    for (let round = 1; round <= 10; round++) {
      const connection = await stalledExport(service)
      assert.equal((await service.send('GET', '/plants/export')).status, 429, 'the place is taken')
      connection.socket.destroy()
      await until(async () => (await metric(service, 499)) >= round, 'an export goes on without its client')
      assert.equal((await service.send('HEAD', '/plants/export')).status, 200)
      assert.deepEqual(await Promise.all([429, 499].map((status) => metric(service, status))), [round, round])
    }
  })

  clearTest('ends when its client leaves, and opens no snapshot for the next chunk', async (t) => {
    if (!isLinux) return notTestedHere(t, 'what exports open, because only Linux lists it')
    const service = await withMuch(t, { maxExports: '6' })
    const opened: number[] = []
    for (let round = 0; round < 20; round++) {
      const connections = await Promise.all([1, 2, 3].map(() => stalledExport(service)))
      opened.push(await service.under.opened())
      for (const { socket } of connections) socket.destroy()
      await until(async () => (await metric(service, 499)) >= opened.length * 3, 'exports go on without their clients')
    }
    assert.ok((opened.at(-1) ?? 0) <= Math.max(...opened.slice(0, 3)), `${opened}`)
  })

  clearTest('leaves time on the event loop to other requests', async (t) => {
    const service = await withMuch(t)
    const connection = new RawConnection(service.port)
    connection.write(exportHead())
    await connection.until('{"id":0,')
    const during = await service.send('GET', '/health/live')
    assert.equal(during.status, 200)
    assert.ok(!connection.received.endsWith('\r\n0\r\n\r\n'), 'the export continues')
    connection.socket.destroy()
  })
})

onService('an export to an HTTP/1.0 client ends by closing the connection', async (service) => {
  await service.create({ id: 1, name: 'a' })
  const connection = new RawConnection(service.port)
  connection.write(exportHead().replace('HTTP/1.1', 'HTTP/1.0'))
  const received = (await connection.untilClosed()).toString()
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(received, /\r\nConnection: close\r\n/)
  assert.doesNotMatch(received, /Transfer-Encoding|Content-Length/)
  assert.match(received, /\r\n\r\n\{"id":1,"name":"a"\}\n$/)
})

onService('after an export the connection takes another request', async (service) => {
  const connection = new RawConnection(service.port)
  connection.write(`${exportHead()}${exportHead('Connection: close')}`)
  const received = (await connection.untilClosed()).toString()
  assert.equal(received.split('HTTP/1.1 200 OK').length, 3)
})

async function importAll(service: Service, rows: string): Promise<ImportOutcome> {
  const connection = beginImport(service, rows, 'Connection: close')
  connection.write(LAST_CHUNK)
  return outcomeOf(connection)
}

suite('while an import is under way', () => {
  onService('the service stores rows as they arrive, and serves other requests', async (service) => {
    const connection = beginImport(service, rowsFrom(1, 3), 'Connection: close')
    await untilStored(service, 3)
    assert.equal((await service.create({ id: 9, name: 'x' })).status, 200)
    connection.write(chunk(rowsFrom(4, 2)) + LAST_CHUNK)
    const { status, added } = await outcomeOf(connection)
    assert.deepEqual([status, added], [200, 5])
  })

  clearTest('a row may arrive in pieces', async (t) => {
    const service = await withService(t)
    const connection = new RawConnection(service.port)
    connection.socket.setNoDelay(true)
    connection.write(importHead(NDJSON, 'Connection: close'))
    for (const byte of Buffer.from(`${rowsFrom(1, 2)}{"id":3,"name":"é😀"}`)) {
      connection.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]))
    }
    connection.write(LAST_CHUNK)
    assert.equal((await outcomeOf(connection)).added, 3)
    assert.equal((await service.plants()).at(-1)?.name, 'é😀')
  })

  clearTest('the whole body has no time limit', async (t) => {
    const service = await withService(t, { requestTimeout: '1s', headersTimeout: 1000 })
    const connection = beginImport(service, rowsFrom(1, 1))
    await happens(service.server, 'clientError', 'Node.js does not report the timeout')
    connection.write(chunk(rowsFrom(2, 1)) + LAST_CHUNK)
    await connection.until('"added":2')
    connection.write(`${LIVE}\r\n`)
    await connection.until('"live"')
    // The next request of the connection has the limit again.
    connection.write('POST /plants HTTP/1.1\r\nHost: a\r\n')
    assert.match((await connection.untilClosed()).toString(), /"error":40801/)
  })

  onService('the service stores no further row after its stop, although more have arrived', async (service) => {
    const accepted = once(service.server, 'connection') as Promise<[Socket]>
    const connection = beginImport(service, rowsFrom(1, 1))
    const [socket] = await accepted
    await untilStored(service, 1)
    const release = await service.under.lock()
    for (const rows of [rowsFrom(2, 1), rowsFrom(3, 500)]) {
      const before = socket.bytesRead
      connection.write(chunk(rows))
      await until(() => socket.bytesRead >= before + rows.length, 'the rows do not arrive')
    }
    const stopped = service.stop()
    await release()
    const { error, message } = await outcomeOf(connection)
    assert.equal(error, 50303)
    assert.match(message ?? '', /; all rows up to line [12] were processed/)
    await stopped
  })

  onService('the service reads the body no faster than the store writes', async (service) => {
    const accepted = once(service.server, 'connection') as Promise<[Socket]>
    const connection = beginImport(service, rowsFrom(1, 1), 'Connection: close')
    const [socket] = await accepted
    await untilStored(service, 1)
    const release = await service.under.lock()
    for (let i = 0; i < 400; i++) connection.write(chunk(`${`{"id":${i + 2},"name":"x"}`.padEnd(50_000)}\n`))
    // Waits until the count of bytes stays the same.
    for (let before = -1; socket.bytesRead > before; await sleep(200)) before = socket.bytesRead
    const read = socket.bytesRead
    await release()
    connection.write(LAST_CHUNK)
    assert.equal((await outcomeOf(connection)).added, 401)
    assert.ok(read < 2 * 2 ** 20, `${read} bytes of 20 MB were read while the store took nothing`)
  })

  onService('a client that stalls gets 40801 with the counts so far', { stallTimeout: '300ms' }, async (service) => {
    const connection = beginImport(service, `${rowsFrom(1, 3)}{"id":4,`)
    const { status, error, message } = await outcomeOf(connection)
    assert.deepEqual([status, error], [408, 40801])
    assert.equal(
      message,
      'the client sent too little for 0.3 s; the least speed is 1024 bytes per second; all rows up to line 3 were processed (3 added, 0 updated, 0 unchanged, 0 refused); ' +
        'no further row was stored; importing the file again is safe',
    )
    assert.equal((await service.plants()).length, 3)
  })

  onService('a broken connection leaves whole rows, and repeating the import completes it', async (service) => {
    const file = rowsFrom(1, 2000)
    const connection = beginImport(service, file.slice(0, file.length / 2))
    await untilStored(service, 500)
    connection.socket.destroy()
    await untilIdle(service, 'import')
    const stored = await service.plants()
    assert.ok(stored.length < 2000)
    for (const [i, { id, name }] of stored.entries()) assert.deepEqual([id, name], [BigInt(i + 1), `plant ${i + 1}`])
    const { added, unchanged } = await importAll(service, file)
    assert.deepEqual([added, unchanged], [2000 - stored.length, stored.length])
    const metrics = await service.send('GET', '/metrics')
    assert.match(metrics.body, /plantstore_http_requests_total\{operation="importPlants",status="499"\} 1\n/)
  })

  clearTest('a closing store ends the import with 50303 and the counts so far', async (t) => {
    const service = await withService(t)
    const connection = beginImport(service, rowsFrom(1, 3), 'Connection: close')
    await untilStored(service, 3)
    await service.store.close()
    connection.write(chunk(rowsFrom(4, 3)) + LAST_CHUNK)
    const { status, error, message } = await outcomeOf(connection)
    assert.deepEqual([status, error], [503, 50303])
    assert.equal(
      message,
      'the service is shutting down; all rows up to line 3 were processed (3 added, 0 updated, 0 unchanged, 0 refused); ' +
        'no further row was stored; importing the file again is safe',
    )
  })
})

suite('the body of an import', () => {
  clearTest('is requested with 100 Continue if the client expects that', async (t) => {
    const service = await withService(t)
    const connection = new RawConnection(service.port)
    connection.write(importHead(NDJSON, 'Expect: 100-continue', 'Connection: close'))
    await connection.until('100 Continue\r\n\r\n')
    connection.write(chunk(rowsFrom(1, 1)) + LAST_CHUNK)
    assert.equal((await outcomeOf(connection)).added, 1)
  })

  clearTest('is not requested if the head is refused', async (t) => {
    const service = await withService(t)
    const expecting = importHead(NDJSON, 'Expect: 100-continue')
    const refused: readonly [string, number][] = [
      [expecting.replace('ndjson', 'json'), 415],
      [expecting.replace('Bearer', 'Basic'), 401],
      [expecting.replace('/import', '/import?mode=x'), 400],
    ]
    for (const [head, status] of refused) {
      const answers = await raw(service.port, head)
      const statuses = answers.map((answer) => answer.status)
      assert.deepEqual(statuses, [status])
    }
  })

  onService('is read to its end after a refusal midway, so that every client gets the answer', async (service) => {
    const connection = new RawConnection(service.port)
    // This client reads nothing before it has sent everything.
    connection.socket.pause()
    connection.write(importHead('text/csv') + chunk('not,a,header\n'))
    for (let i = 0; i < 400; i++) connection.write(chunk('1,x,\n'.repeat(10_000)))
    const rest = `${LAST_CHUNK}${LIVE}Connection: close\r\n\r\n`
    await new Promise<unknown>((sent) => connection.socket.write(rest, sent))
    connection.socket.resume()
    const answers = answersIn(await connection.untilClosed())
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(statuses, [400, 200])
  })

  clearTest('is read for at most 30 s after a refusal, and for 5 s after a 401', async (t) => {
    const service = await withService(t)
    t.mock.timers.enable({ apis: ['setInterval'] })
    for (const [bytes, seconds] of [
      [importHead('text/csv') + chunk('not,a,header\n'), 30],
      [importHead('text/csv').replace(SECRET, 'unknown'), 5],
    ] as const) {
      const requested = once(service.server, 'request') as Promise<[IncomingMessage]>
      const connection = new RawConnection(service.port)
      connection.write(bytes)
      const [request] = await requested
      await connection.until('"error":')
      for (let second = 1; second <= seconds; second++) {
        assert.equal(request.socket.destroyed, false, `${second}`)
        const arrived = once(request, 'data')
        connection.write(chunk('x'))
        await settled(arrived, 'the service reads no more of the body')
        t.mock.timers.tick(1000)
      }
      assert.equal(request.socket.destroyed, true)
      await connection.untilClosed()
    }
    t.mock.timers.reset()
  })
})
