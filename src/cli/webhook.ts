import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import { addSettings, command, examples } from './command.ts'
import { addUrl, type ReadSettings } from './commands.ts'
import { table } from './progress.ts'
import { type ServiceClient, type TargetFlags, targetOf } from './service-client.ts'

interface WebhookFlags extends TargetFlags {
  readonly json?: true
}

/** The members of a webhook that the table shows. */
interface ShownWebhook {
  readonly id: string
  readonly url: string
  readonly state: string
  readonly reason?: string
  readonly since: string
  readonly pending: number
}

interface TestResult {
  readonly status?: number
  readonly failure?: string
  readonly durationMs: number
}

/** Milliseconds: more than an attempt takes. */
const TIMEOUT = 30_000

/** Adds the commands on webhooks. They ask a running service, because only it connects to receivers. */
export function addWebhook(root: Command, settings: ReadSettings): Command {
  const webhook = command(root, 'webhook', 'list and test the webhooks of a running service').addHelpText(
    'after',
    examples(`plantstore webhook list ${URL}`, `plantstore webhook test whk_4bXm09TzQ1r ${URL}`),
  )
  const list = command(webhook, 'list', 'list all webhooks with their state')
  addSettings(addUrl(list), [])
  list
    .option('--json', 'print the list as JSON')
    .addHelpText('after', examples(`plantstore webhook list ${URL}`))
    .action((flags: WebhookFlags) => listWebhooks(serviceOf(flags, settings), flags))
  const test = command(webhook, 'test', 'send a test to a webhook now, and show what came of it')
  test.argument('<id>', 'the id of the webhook, from the list')
  addSettings(addUrl(test), [])
  test
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples(`plantstore webhook test whk_4bXm09TzQ1r ${URL}`))
    .action((id: string, flags: WebhookFlags) => testWebhook(serviceOf(flags, settings), id, flags))
  return webhook
}

const URL = '--url http://127.0.0.1:8080'

function serviceOf(flags: WebhookFlags, settings: ReadSettings): ServiceClient {
  const target = targetOf(flags, settings(flags))
  if (target.kind === 'service') return target.service
  throw new OperatorError('--url: give the address of the service, such as http://127.0.0.1:8080', { exitCode: 2 })
}

async function listWebhooks(service: ServiceClient, { json }: WebhookFlags): Promise<void> {
  const all = (await service.ask('GET', 'webhooks', AbortSignal.timeout(TIMEOUT))) as readonly ShownWebhook[]
  if (json) {
    process.stdout.write(`${JSON.stringify(all, null, 2)}\n`)
    return
  }
  const rows = all.map(({ id, state, reason, since, pending, url }) => {
    const shown = reason === undefined ? state : `${state} (${reason})`
    return [id, shown, since.replace(/\.\d+Z/, 'Z'), String(pending), printable(url)]
  })
  process.stdout.write(table([['ID', 'STATE', 'SINCE', 'PENDING', 'URL'], ...rows]))
}

/** Exit code 1: the test failed. */
async function testWebhook(service: ServiceClient, id: string, { json }: WebhookFlags): Promise<void> {
  const path = `webhooks/${encodeURIComponent(id)}/test`
  const result = (await service.ask('POST', path, AbortSignal.timeout(TIMEOUT))) as TestResult
  const { status, failure, durationMs } = result
  if (json) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  else if (failure === undefined) process.stdout.write(`The receiver answered ${status} after ${durationMs} ms.\n`)
  else process.stdout.write(`The test failed after ${durationMs} ms: ${printable(failure)}.\n`)
  if (failure !== undefined) process.exitCode = 1
}
