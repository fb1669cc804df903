import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { SECRET, type Service } from './service.ts'

export const PLANT = '{"id":1,"name":"x"}'
/** The beginning of the head of a request that needs no token. */
export const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n'

/** A request that creates a plant, with further header fields and this body. */
export const post = (body: string, ...fields: string[]): string =>
  [
    'POST /plants HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${SECRET}`,
    'Content-Type: application/json',
    ...fields,
    '',
    body,
  ].join('\r\n')

/** A request that creates a valid plant. */
export const whole = (...fields: string[]): string => post(PLANT, `Content-Length: ${PLANT.length}`, ...fields)

/** Waits until the service has no connections. */
export async function untilNoConnection({ server }: Service): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const open = await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
    if (open === 0) return
    await sleep(50)
  }
  assert.fail('a connection stays open')
}
