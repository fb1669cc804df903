import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { movableTime } from '../support/clock.ts'
import { chunk, LAST_CHUNK, outcomeOf, rowsFrom, untilStored } from '../support/import.ts'
import { openImport, unreadExport, untilIdle, untilRunning, withMuch } from '../support/long-work.ts'
import { run } from '../support/process.ts'
import { RawConnection } from '../support/raw.ts'
import { PLANT, whole } from '../support/requests.ts'
import { SECRET } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

suite('a token that is revoked', () => {
  onService('stops an open import: no later row is stored, and the answer has the counts so far', async (service) => {
    const { secret, token } = await service.issueToken(['plants:write'])
    const connection = openImport(service, secret)
    await untilStored(service, 1)
    await service.store.tokens.revokeToken(token.id)
    await connection.until('HTTP/1.1 401')
    connection.write(chunk(rowsFrom(2, 100)) + LAST_CHUNK)
    connection.socket.end()
    const { status, error, message } = await outcomeOf(connection)
    assert.deepEqual([status, error], [401, 40102])
    assert.equal(
      message,
      'the access token was revoked; all rows up to line 1 were processed (1 added, 0 updated, 0 unchanged, 0 refused); ' +
        'no further row was stored; importing the file again is safe',
    )
    assert.equal((await service.plants()).length, 1)
  })

  test('by a command in another process cuts off an export in progress', async (t) => {
    const service = await withMuch(t)
    const { secret, token } = await service.issueToken(['plants:read'])
    const connection = unreadExport(service, secret)
    await untilRunning(service, 'export', 1)
    const { code, stderr } = await run(t, ['token', 'revoke', token.id, '--store', service.under.address])
    assert.equal(code, 0, stderr)
    await untilIdle(service, 'export')
    connection.socket.resume()
    assert.ok(!(await connection.untilClosed()).toString().endsWith('\r\n0\r\n\r\n'), 'the last chunk is missing')
  })

  onService('does not affect work of other tokens or of the configured one', async (service) => {
    const other = await service.issueToken(['plants:write'])
    const revoked = [await service.issueToken(['plants:write']), await service.issueToken(['plants:write'])]
    const stay = [other.secret, SECRET].map((secret) => openImport(service, secret))
    const end = revoked.map(({ secret }) => openImport(service, secret))
    // When the second one ends, the service has checked the tokens of all open work since the end of the first one.
    for (const [i, { token }] of revoked.entries()) {
      await untilRunning(service, 'import', 4 - i)
      await service.store.tokens.revokeToken(token.id)
    }
    await untilRunning(service, 'import', 2)
    for (const connection of stay) {
      connection.write(chunk(rowsFrom(1, 3)) + LAST_CHUNK)
      await connection.until('"refused":0')
      connection.socket.destroy()
    }
    for (const { socket } of end) socket.destroy()
  })
})

onService('a create whose token is revoked while its body arrives stores nothing', async (service, t) => {
  const move = movableTime(t)
  const { secret, token } = await service.issueToken(['plants:write'])
  const create = whole('Connection: close', 'Expect: 100-continue').replace(SECRET, secret)
  const [head] = create.split(PLANT)
  const connection = new RawConnection(service.port, head ?? '')
  await connection.until('100 Continue\r\n\r\n')
  await service.store.tokens.revokeToken(token.id)
  move(1000)
  connection.write(PLANT)
  await connection.until('"error":40102')
  assert.deepEqual(await service.plants(), [])
})
