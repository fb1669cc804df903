import { printable } from '../base/printable.ts'
import type { Config } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { printJson, table } from './output.ts'
import { serviceOf } from './service-client.ts'

export async function listWebhooks(flags: Flags, config: Config): Promise<void> {
  const all = await serviceOf(flags, config).call((client) => client.listWebhooks())
  if (flags.json) return printJson(all)
  const rows = all.map(({ id, state, reason, since, pending, url }) => {
    const shown = reason === undefined ? state : `${state} (${reason})`
    return [id, shown, since.replace(/\.\d+Z/, 'Z'), String(pending), url]
  })
  process.stdout.write(table([['ID', 'STATE', 'SINCE', 'PENDING', 'URL'], ...rows]))
}

/** Exit code 1: the test failed. */
export async function testWebhook(id: string, flags: Flags, config: Config): Promise<void> {
  const result = await serviceOf(flags, config).call((client) => client.testWebhook(id))
  const { status, failure, durationMs } = result
  if (flags.json) printJson(result)
  else if (failure === undefined) process.stdout.write(`The receiver answered ${status} after ${durationMs} ms.\n`)
  else process.stdout.write(`The test failed after ${durationMs} ms: ${printable(failure)}.\n`)
  if (failure !== undefined) process.exitCode = 1
}
