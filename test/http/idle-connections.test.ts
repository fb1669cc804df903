import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RawConnection } from '../support/raw.ts'
import { withService } from '../support/service.ts'
import { clearTest } from '../support/transport.ts'

const REQUEST = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'
const KEEP_ALIVE = '1s'
const HEADERS = 5000

/** Sends a request, and returns the connection once it has the answer. */
async function answered(port: number): Promise<RawConnection> {
  const connection = new RawConnection(port)
  connection.write(REQUEST)
  await connection.until('\r\n\r\n')
  return connection
}

suite('an idle connection', { concurrency: true }, () => {
  test('closes after --keep-alive-timeout, and one in use stays open', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE })
    const [idle, used] = await Promise.all([answered(port), answered(port)])
    let isClosed = false
    const closed = idle.untilClosed().finally(() => {
      isClosed = true
    })
    const startedAt = performance.now()
    while (!isClosed) {
      used.write(REQUEST)
      await sleep(100)
    }
    await closed
    // The service waits for a second longer than it promises, so that a request in the last moment is not lost.
    assert.ok(performance.now() - startedAt >= 1900)
    assert.equal(used.socket.readyState, 'open')
    used.socket.destroy()
  })

  clearTest('gets the time in each answer that leaves it open', async (t) => {
    const service = await withService(t, { keepAliveTimeout: '90s' })
    const answer = await service.send('GET', '/health/live')
    assert.equal(answer.headers['keep-alive'], 'timeout=90')
    assert.equal((await service.send('GET', '/nowhere')).headers['keep-alive'], 'timeout=90')
    const closing = new RawConnection(service.port)
    closing.write(REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    const received = (await closing.untilClosed()).toString()
    assert.match(received, /^Connection: close\r$/m)
    assert.doesNotMatch(received, /keep-alive/i)
  })

  clearTest('stays open with a timeout of 0, and no answer names one', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: '0ms' })
    const connection = await answered(port)
    await sleep(3000)
    connection.write(REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    assert.doesNotMatch((await connection.untilClosed()).toString(), /^Keep-Alive:/im)
    assert.equal(connection.received.split('HTTP/1.1 200').length, 3)
  })
})

suite('a connection that is not idle', { concurrency: true }, () => {
  clearTest('keeps its deadline for a head that has begun to arrive', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE, headersTimeout: HEADERS })
    const connection = await answered(port)
    connection.write('GET /health/live HTTP/1.1\r\nHo')
    await connection.untilClosed()
    assert.match(connection.received, /"error":40801/)
  })

  clearTest('is not closed while a body arrives, even after the answer to it', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE, headersTimeout: 1000 })
    const connection = await answered(port)
    connection.write('DELETE /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 35\r\n\r\n')
    for (let i = 0; i < 35; i++) {
      connection.write('x')
      await sleep(100)
    }
    connection.write(REQUEST)
    // Until the second answer to REQUEST.
    await connection.until(/HTTP\/1.1 200.+HTTP\/1.1 404.+HTTP\/1.1 200/s)
    connection.socket.destroy()
  })

  clearTest('closes in the end if it sends line ends instead of a request', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE, headersTimeout: 1000 })
    const connection = await answered(port)
    connection.write('\r\n')
    await connection.untilClosed()
  })
})
