import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { queryObjects } from 'node:v8'
import { chunk, importHead, LAST_CHUNK, NDJSON, rowsFrom, untilStored } from '../support/import.ts'
import { openImport, untilIdle } from '../support/long-work.ts'
import { isLinux, notTestedHere } from '../support/not-tested.ts'
import { RawConnection } from '../support/raw.ts'
import { LIVE, untilNoConnection } from '../support/requests.ts'
import { SECRET, withService } from '../support/service.ts'
import { as } from '../support/tokens.ts'
import { happens, until } from '../support/until.ts'

/** Addresses and tokens of a test. */
const MANY = 100

suite('what the service keeps about a client', () => {
  test('is nothing about its token once its work has ended: the token is looked up no more', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const service = await withService(t)
    const spy = t.mock.method(service.store.tokens, 'findToken')
    const lookUpsInASecond = () => {
      const before = spy.mock.callCount()
      t.mock.timers.tick(1000)
      return spy.mock.callCount() - before
    }
    const { secret } = await service.issueToken(['plants:write'])
    const connection = openImport(service, secret)
    await untilStored(service, 1)
    assert.ok(lookUpsInASecond() > 0)
    connection.write(LAST_CHUNK)
    await connection.until('"added":1')
    await untilIdle(service, 'import')
    connection.socket.destroy()
    assert.equal(lookUpsInASecond(), 0)
  })

  test('is nothing about its address after its last connection, nor about its token after its last work', async (t) => {
    if (!isLinux) return notTestedHere(t, 'many addresses, because only Linux has them without being told')
    const service = await withService(t)
    const issued = await Promise.all(Array.from({ length: MANY }, () => service.issueToken(['plants:read'])))
    const use = async (address: string, secret: string) => {
      const socket = connect({ port: service.port, host: '127.0.0.1', localAddress: address })
      socket.end(`${LIVE}Connection: close\r\n\r\n`).resume()
      await happens(socket, 'close', 'the service does not end a connection')
      for (const path of ['/plants/export', '/plants?q=x', '/tags']) {
        assert.equal((await service.send('GET', path, as(secret))).status, 200)
      }
    }
    // The first use may make what stays.
    await use('127.0.0.2', SECRET)
    const setsAtRest = async () => {
      await untilNoConnection(service)
      return queryObjects(Set, { format: 'count' }) as number
    }
    const before = await setsAtRest()
    for (const [i, { secret }] of issued.entries()) await use(`127.0.1.${i + 1}`, secret)
    const kept = (await setsAtRest()) - before
    assert.ok(kept < MANY / 2, `${kept} sets more after ${MANY} addresses and tokens`)
  })
})

suite('the rest of a body behind its refusal', () => {
  const REFUSED: readonly (readonly [string, string, number])[] = [
    ['without a token', importHead(NDJSON).replace(SECRET, 'none'), 5],
    ['with a token', importHead('text/plain'), 30],
  ]
  for (const [who, head, seconds] of REFUSED) {
    test(`is read for ${seconds} seconds ${who}, even if it trickles on`, async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] })
      const service = await withService(t)
      const accepted = once(service.server, 'connection')
      const connection = new RawConnection(service.port, head)
      const [socket] = (await accepted) as [Socket]
      await connection.until('"error":')
      for (let second = 0; second < seconds; second++) {
        assert.equal(socket.destroyed, false, `it is cut off after ${second} s`)
        const before = socket.bytesRead
        connection.write(chunk(rowsFrom(second, 1)))
        await until(() => socket.bytesRead > before, 'the service reads nothing')
        t.mock.timers.tick(1000)
      }
      assert.ok(socket.destroyed, `it is still read after ${seconds} s`)
      await connection.untilClosed()
    })
  }

  test('is read no more once a second has brought nothing', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const service = await withService(t)
    const connection = new RawConnection(service.port, importHead('text/plain'))
    await connection.until('"error":')
    t.mock.timers.tick(1000)
    await connection.untilClosed()
  })
})
