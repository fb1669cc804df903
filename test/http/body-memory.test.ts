import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { boundOf } from '../support/long-work.ts'
import { answersIn, assertRefusal, RawConnection } from '../support/raw.ts'
import { PLANT } from '../support/requests.ts'
import { type Sending, type Service, withService } from '../support/service.ts'
import { until } from '../support/until.ts'

const KIB = 1024

const bodyBytes = (service: Service): Promise<number> => boundOf(service, 'body-memory')

async function untilBodiesTake(service: Service, is: (bytes: number) => boolean): Promise<void> {
  await until(async () => is(await bodyBytes(service)), 'the bytes of bodies do not become as expected')
}

const create = async (service: Service, body: string, sending: Sending = {}): Promise<number> =>
  (await service.send('POST', '/plants', { headers: { 'Content-Type': 'application/json' }, body, ...sending })).status

/** Sends a part of a body on a new connection. */
function part(t: TestContext, service: Service, secret: string, bytes: number): RawConnection {
  const connection = new RawConnection(service.port)
  t.after(() => connection.socket.destroy())
  connection.write(
    `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${128 * KIB}\r\n\r\n${'x'.repeat(bytes)}`,
  )
  return connection
}

const refusalTo = async (connection: RawConnection) => assertRefusal(answersIn(await connection.untilClosed()))

/** A body of 128 KiB. */
const LARGEST = PLANT.padEnd(128 * KIB, ' ')

suite('bodies in transit', () => {
  const LIMITS = { bodyMemory: 512 * 2 ** 10, bodyLimit: '128KiB' }

  test('are refused with 429 at half of the memory for one token, and with 503 at all of the memory', async (t) => {
    const service = await withService(t, LIMITS)
    const issued = await Promise.all([1, 2, 3].map(() => service.issueToken(['plants:write'])))
    const [first = '', second = '', third = ''] = issued.map(({ secret }) => secret)
    const flood = (secret: string) => Array.from({ length: 8 }, () => part(t, service, secret, 127 * KIB))
    assert.deepEqual(await Promise.race(flood(first).map(refusalTo)), { status: 429, error: 42901 })
    flood(second)
    await untilBodiesTake(service, (bytes) => bytes > 400 * KIB)
    assert.deepEqual(await Promise.race(flood(third).map(refusalTo)), { status: 503, error: 50302 })
    assert.ok((await bodyBytes(service)) <= 512 * KIB)
    assert.equal(await create(service, PLANT), 200, 'there is room for small bodies')
  })

  test('release their memory when their clients leave and when they are answered', async (t) => {
    const service = await withService(t, LIMITS)
    const { secret } = await service.issueToken(['plants:write'])
    const held = [1, 2, 3].map(() => part(t, service, secret, 64 * KIB))
    await untilBodiesTake(service, (bytes) => bytes >= 128 * KIB)
    for (const { socket } of held) socket.destroy()
    await untilBodiesTake(service, (bytes) => bytes === 0)
    const body = JSON.stringify({ id: 7, name: 'x'.repeat(100 * KIB) })
    assert.equal(await create(service, body, { authorization: `Bearer ${secret}` }), 200)
    await untilBodiesTake(service, (bytes) => bytes === 0)
  })

  test('release their memory when they are refused, and never count twice', async (t) => {
    const service = await withService(t, LIMITS)
    for (let i = 0; i < 10; i++) {
      const body = `{"id":1.5,"name":"${'x'.repeat(100 * KIB)}"}`
      assert.equal(await create(service, body), 400)
      assert.equal(await create(service, 'x'.repeat(200 * KIB), { chunked: true }), 413)
    }
    await untilBodiesTake(service, (bytes) => bytes === 0)
  })

  test('always have room for one body of the largest size', async (t) => {
    const service = await withService(t, { bodyMemory: 1, bodyLimit: '128KiB' })
    for (const chunked of [false, true]) assert.equal(await create(service, LARGEST, { chunked }), 200)
  })

  test('may take exactly half of the memory with one token, and exactly all of it with two', async (t) => {
    const service = await withService(t, { bodyMemory: 256 * KIB, bodyLimit: '128KiB' })
    const issued = await Promise.all([1, 2].map(() => service.issueToken(['plants:write'])))
    const release = await service.under.lock()
    const creates = issued.map(({ secret }) => create(service, LARGEST, { authorization: `Bearer ${secret}` }))
    let answered = 0
    for (const each of creates) void each.then(() => answered++)
    await untilBodiesTake(service, (bytes) => bytes === 256 * KIB || answered > 0)
    await release()
    assert.deepEqual(await Promise.all(creates), [200, 200])
  })

  test('count the same in pieces of any size', async (t) => {
    const service = await withService(t)
    const name = Array.from({ length: 3000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
    const body = Buffer.from(JSON.stringify({ id: 1, name }))
    for (const size of [1, 7, 1000, 4096, 5000]) {
      const chunks: Buffer[] = []
      for (let at = 0; at < body.length; at += size) {
        const chunk = body.subarray(at, at + size)
        chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
      }
      const whole = new RawConnection(service.port)
      whole.write(
        `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${(await service.issueToken(['plants:write'])).secret}\r\n` +
          'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
      )
      whole.write(Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]))
      assert.equal(answersIn(await whole.untilClosed())[0]?.status, 200)
    }
    assert.ok((await service.plants())[0]?.name === name)
  })
})
