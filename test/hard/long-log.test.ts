import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { TESTER } from '../support/actor.ts'
import { exportHead, withMuch } from '../support/long-work.ts'
import { RawConnection } from '../support/raw.ts'
import { errorOf, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

/** The bound of a small store. */
const BOUND = 128 * 2 ** 20
/** What the log may gain while the exports are cut off one after the other. */
const SLACK = 128 * 2 ** 20
/** Of one client, that are open at once. */
const EXPORTS = 3

/** The bound grows with the store, and a log of changes that keeps them lets the store grow. */
const PATIENT = { maxExports: '16', stallTimeout: '10m', changesKeep: '0s' }

/** The service of a store whose every plant can be replaced in turn, which lengthens the log and not the store. */
async function withWriter(t: TestContext) {
  const service = await withMuch(t, PATIENT)
  const path = service.under.address.replace('sqlite:', '')
  const lengthOf = (name: string) => statSync(path + name, { throwIfNoEntry: false })?.size ?? 0
  let round = 0
  return {
    service,
    logs: () => ({ store: lengthOf('-wal'), index: lengthOf('-index-wal') }),
    /** @param onPart called eight times */
    async write(onPart: () => Promise<void> = async () => {}) {
      const name = `${'x'.repeat(990)} ${round++}`
      for (let from = 0; from < 8000; from += 1000) {
        const ids = Array.from({ length: 1000 }, (_, i) => BigInt(from + i))
        await service.store.importPlants(
          ids.map((id) => ({ id, name, tag: undefined })),
          'update',
          TESTER,
        )
        await onPart()
      }
    },
  }
}

/** The refusal of who has waited long for the search index, which takes 8 MB of text after each write. */
const LATE_INDEX = '"error":50301,"message":"the search index is '

/** Begins an export whose client stops reading after the first bytes. @returns undefined when it is refused */
async function slowExport(service: Service, path = '/plants/export'): Promise<RawConnection | undefined> {
  const connection = new RawConnection(service.port)
  connection.write(exportHead('Connection: close').replace('/plants/export', path))
  await connection.until('\r\n\r\n')
  if (connection.received.startsWith('HTTP/1.1 200 ')) {
    connection.socket.pause()
    return connection
  }
  const refusal = (await connection.untilClosed()).toString()
  if (refusal.includes(LATE_INDEX)) return slowExport(service, path)
  assert.match(refusal, /^HTTP\/1\.1 503 .*Retry-After: .*"error":50302,/s)
  return undefined
}

const isComplete = (answer: Buffer): boolean => answer.subarray(-7).toString() === '\r\n0\r\n\r\n'

for (const [what, path] of [
  ['of all plants', '/plants/export'],
  ['by name, which read the search index too', '/plants/export?sort=name'],
] as const) {
  test(`overlapping slow exports ${what} do not make the log longer than its bound`, async (t) => {
    const { service, logs, write } = await withWriter(t)
    const open: RawConnection[] = []
    let longest = 0
    let isRefused = false
    // The service restarts the log as soon as it is too long, maybe before the next write. So exports that leave at once
    // ask whether they may begin; those by id do not wait for the index before.
    const look = async () => {
      const { store, index } = logs()
      assert.ok(Math.max(store, index) < BOUND + SLACK, `the logs have ${store} and ${index} bytes`)
      longest = Math.max(longest, store)
      while (!isRefused && logs().store > BOUND) {
        const further = await slowExport(service)
        if (further === undefined) isRefused = true
        else further.socket.destroy()
      }
    }
    for (;;) {
      await write(look)
      if (isRefused && longest > BOUND && logs().store < BOUND) break
      const next = await slowExport(service, path)
      if (next !== undefined) open.push(next)
      // Each export ends in time, and the next one has begun by then.
      if (open.length > EXPORTS) open.shift()?.socket.destroy()
    }
    for (const { socket } of open) socket.resume()
    for (const left of open) assert.ok(!isComplete(await left.untilClosed()), 'an export has been cut off')
    assert.match(service.log, /"brokenOff":true,"status":503,"error":50302/)
    // The log may still be too long for a moment.
    await until(async () => {
      const next = await slowExport(service, path)
      next?.socket.resume()
      return next !== undefined && isComplete(await next.untilClosed())
    }, 'no later export is complete')
  })
}

test('searches are answered or refused for a moment while a log that was too long is restarted', async (t) => {
  const { service, logs, write } = await withWriter(t)
  const search = () => service.send('GET', '/plants?q=xx&limit=1')
  const slow = (await slowExport(service)) ?? assert.fail('the export is refused')
  // The service restarts the log as soon as it is too long, so this may never see its full length.
  for (let longest = 0; logs().store >= longest; ) {
    longest = logs().store
    const [found] = await Promise.all([search(), write()])
    // As a read that holds the log, the search may be cut off itself.
    if (found.status !== 200 && !found.bytes.includes(LATE_INDEX))
      assert.deepEqual([errorOf(found), found.headers['retry-after']], [50302, '1'])
  }
  await until(async () => {
    const { status, json } = await search()
    return status === 200 && (json as unknown[]).length === 1
  }, 'no search finds a plant')
  assert.ok(logs().store < BOUND, 'the log has been restarted')
  slow.socket.resume()
  assert.ok(!isComplete(await slow.untilClosed()), 'the export has been cut off')
})
