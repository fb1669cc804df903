import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { boundOf, untilIdle, untilRunning } from '../support/long-work.ts'
import { RawConnection } from '../support/raw.ts'
import { errorOf, SECRET, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { as, createToken, MANAGER, untilRefused } from '../support/tokens.ts'
import { until } from '../support/until.ts'

suite('changes of tokens', () => {
  test('wait in turns and within bounds while the store is busy, and leave with their clients', async (t) => {
    const service = await withService(t, { changeQueue: 4, changeQueuePerToken: 2 })
    const others = [await service.issueToken(['tokens']), await service.issueToken(['tokens'])]
    const unlock = await service.under.lock()
    const body = JSON.stringify(MANAGER)
    const send = (secret: string) => {
      const connection = new RawConnection(service.port)
      const head = `POST /tokens HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`
      connection.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
      return connection
    }
    const waiting = async (count: number) => {
      const waiting = () => boundOf(service, 'change-queue')
      await until(async () => (await waiting()) === count, `${count} changes do not wait`)
    }
    const running = send(SECRET)
    await untilRunning(service, 'change', 1)
    const queued = [send(SECRET), send(SECRET)]
    await waiting(2)
    assert.equal(errorOf(await createToken(service, MANAGER)), 42901)
    queued.push(...others.map(({ secret }) => send(secret)))
    await waiting(4)
    assert.equal(errorOf(await createToken(service, MANAGER, as(others[0]?.secret ?? ''))), 50302)
    for (const connection of queued) connection.socket.destroy()
    await waiting(0)
    await unlock()
    await running.until('"secret":"ps_')
    running.socket.destroy()
    await untilIdle(service, 'change')
    assert.equal(((await service.send('GET', '/tokens')).json as unknown[]).length, 3)
  })

  onService('are refused if their token is revoked while the body arrives', async (service) => {
    const { secret, token } = await service.issueToken(['tokens'])
    const connection = new RawConnection(service.port)
    const body = JSON.stringify(MANAGER)
    const head = `POST /tokens HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`
    connection.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
    await service.send('GET', '/tokens/self', as(secret))
    await service.store.tokens.revokeToken(token.id)
    await untilRefused(service, secret)
    connection.write(body.slice(5))
    await connection.until('"error":40102')
    connection.socket.destroy()
    assert.equal(((await service.send('GET', '/tokens')).json as unknown[]).length, 1)
  })
})
