import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { chunk, rowsFrom } from '../../support/import.ts'
import {
  openImport,
  unreadExport,
  untilIdle,
  untilMomentEnds,
  untilRunning,
  withMuch,
} from '../../support/long-work.ts'
import { SECRET } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'

/** No client reaches this speed, and none stalls. */
const SLOW = { stallTimeout: '1s', leastSpeed: 512 * 2 ** 20 }

suite('a client below the least speed', () => {
  onService('of an import gets 40801 with the counts so far', SLOW, async (service) => {
    const connection = openImport(service, SECRET)
    for (let row = 2; !connection.received.includes('HTTP/1.1 '); row++) {
      connection.write(chunk(rowsFrom(row, 1)))
      await sleep(50)
    }
    await connection.until(
      '"error":40801,"message":"the client sent too little for 1 s; the least speed is 536870912 bytes per second; all rows',
    )
    connection.socket.destroy()
    await untilIdle(service, 'import')
  })

  test('of an export is cut off, and its snapshot is released', async (t) => {
    const service = await withMuch(t, SLOW)
    const connection = unreadExport(service)
    await untilRunning(service, 'export', 1)
    const { socket } = connection
    socket.on('data', () => {
      socket.pause()
      setTimeout(() => socket.resume(), 20)
    })
    socket.resume()
    await untilIdle(service, 'export')
    assert.match(service.log, /the client read too little for 1 s; the least speed is 536870912 bytes per second/)
    await service.create({ id: 50_000, name: 'later' })
    await untilMomentEnds(service)
    socket.destroy()
  })
})
