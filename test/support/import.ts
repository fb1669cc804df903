import assert from 'node:assert/strict'
import { assertConforms } from './conforms.ts'
import { answersIn, RawConnection } from './raw.ts'
import { SECRET, type Service } from './service.ts'
import { until } from './until.ts'

export const NDJSON = 'application/x-ndjson'

/** The head of an import with a chunked body. */
export const importHead = (type: string, ...fields: string[]): string =>
  [
    'POST /plants/import HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${SECRET}`,
    `Content-Type: ${type}`,
    'Transfer-Encoding: chunked',
    ...fields,
    '',
    '',
  ].join('\r\n')

export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
export const LAST_CHUNK = '0\r\n\r\n'

export const rowsFrom = (first: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `{"id":${first + i},"name":"plant ${first + i}"}\n`).join('')

/** Begins an import: sends the head and these rows, but not the end. */
export function beginImport(service: Pick<Service, 'port'>, rows: string, ...fields: string[]): RawConnection {
  const connection = new RawConnection(service.port, importHead(NDJSON, ...fields) + chunk(rows))
  return connection
}

export interface ImportOutcome {
  readonly status: number
  readonly error?: number
  readonly message?: string
  readonly added?: number
  readonly unchanged?: number
}

/** Reads the answer to an import once the service has closed the connection. */
export async function outcomeOf(connection: RawConnection): Promise<ImportOutcome> {
  const answer = answersIn(await connection.untilClosed()).find(({ status }) => status >= 200)
  assert.ok(answer)
  assertConforms('importPlants', answer)
  return { status: answer.status, ...(JSON.parse(answer.body) as Omit<ImportOutcome, 'status'>) }
}

/** Waits until the store has this many plants. */
export async function untilStored(service: Service, count: number): Promise<void> {
  await until(async () => (await service.plants()).length >= count, `the store does not get ${count} plants`)
}
