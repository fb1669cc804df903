import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import type { Config } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { printJson, table } from './output.ts'
import { targetOf } from './service-client.ts'

/** The members of a webhook that the table shows. */
type ShownWebhook = Readonly<Record<'id' | 'url' | 'state' | 'since' | 'pending', string> & { reason?: string }>

interface TestResult {
  readonly status?: number
  readonly failure?: string
  readonly durationMs: number
}

/** Milliseconds: more than an attempt takes. */
const TIMEOUT = 30_000

export async function listWebhooks(flags: Flags, config: Config): Promise<void> {
  const all = (await ask(flags, config, 'GET', 'webhooks')) as readonly ShownWebhook[]
  if (flags.json) return printJson(all)
  const rows = all.map(({ id, state, reason, since, pending, url }) => {
    const shown = reason === undefined ? state : `${state} (${reason})`
    return [id, shown, since.replace(/\.\d+Z/, 'Z'), String(pending), printable(url)]
  })
  process.stdout.write(table([['ID', 'STATE', 'SINCE', 'PENDING', 'URL'], ...rows]))
}

/** Exit code 1: the test failed. */
export async function testWebhook(id: string, flags: Flags, config: Config): Promise<void> {
  const result = (await ask(flags, config, 'POST', `webhooks/${encodeURIComponent(id)}/test`)) as TestResult
  const { status, failure, durationMs } = result
  if (flags.json) printJson(result)
  else if (failure === undefined) process.stdout.write(`The receiver answered ${status} after ${durationMs} ms.\n`)
  else process.stdout.write(`The test failed after ${durationMs} ms: ${printable(failure)}.\n`)
  if (failure !== undefined) process.exitCode = 1
}

async function ask(flags: Flags, config: Config, method: 'GET' | 'POST', path: string): Promise<unknown> {
  const target = targetOf(flags, config)
  if (target.kind === 'service') return JSON.parse(await target.service.ask(method, path, AbortSignal.timeout(TIMEOUT)))
  throw new OperatorError('--url: give the address of the service, such as http://127.0.0.1:8080', { exitCode: 2 })
}
