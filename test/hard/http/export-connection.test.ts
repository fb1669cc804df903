import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { exportHead, MUCH, withMuch } from '../../support/long-work.ts'
import { isLinux, notTestedHere } from '../../support/not-tested.ts'
import { RawConnection } from '../../support/raw.ts'
import { LIVE, untilNoConnection } from '../../support/requests.ts'
import type { Service } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { clearTest } from '../../support/transport.ts'
import { until } from '../../support/until.ts'

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
  clearTest('contains the plants of one moment, whatever other clients write', async (t) => {
    const service = await withMuch(t)
    const connection = await stalledExport(service)
    assert.equal((await service.create({ id: MUCH, name: 'new' })).status, 200)
    assert.equal((await service.send('DELETE', `/plants/${MUCH - 1}`)).status, 204)
    connection.socket.resume()
    const received = (await connection.untilClosed()).toString()
    assert.ok(received.endsWith('\r\n0\r\n\r\n'))
    const rows = received.replaceAll(/\r\n[0-9a-f]+\r\n/g, '')
    const ids = [...rows.matchAll(/\{"id":(\d+),/g)].map(([, id]) => Number(id))
    const expected = Array.from({ length: MUCH }, (_, i) => i)
    assert.deepEqual(ids, expected)
  })

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
