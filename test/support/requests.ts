import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { SECRET, type Service } from './service.ts'

export const PLANT = '{"id":1,"name":"x"}'
/** The head of a request without a token, still open for more fields. */
export const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n'

/** A request that creates a plant; the fields come before the end of its head, the body after it. */
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

/** The same with the length of a right body. */
export const whole = (...fields: string[]): string => post(PLANT, `Content-Length: ${PLANT.length}`, ...fields)

/** Waits until the service has no connection left. */
export async function untilNoConnection({ server }: Service): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const open = await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
    if (open === 0) return
    await sleep(50)
  }
  assert.fail('a connection stays open')
}
