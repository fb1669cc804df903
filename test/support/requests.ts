import { SECRET, type Service } from './service.ts'
import { until } from './until.ts'

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

/** Closes the connections that the requests of the test keep, and waits until the service has no others. */
export async function untilNoConnection({ server, agent }: Service): Promise<void> {
  agent.destroy()
  const open = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
  await until(async () => (await open()) === 0, 'a connection stays open')
}

/** Waits until this many creates wait for the store. */
export async function untilCreatesWait(service: Service, count: number): Promise<void> {
  const metrics = async () => (await service.send('GET', '/metrics')).body
  const line = `\nplantstore_creates_waiting ${count}\n`
  await until(async () => (await metrics()).includes(line), `${count} creates do not wait for the store`)
}
