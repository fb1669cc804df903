import { type Config, shownStore } from '../config.ts'

export interface BannerFacts {
  readonly config: Config
  /** The port that is really listened on. */
  readonly port: number
  /** The secret that this very start has made. */
  readonly firstToken: string | undefined
}

/** What a person sees when the service is ready. */
export function banner({ config, port, firstToken }: BannerFacts): string {
  const address = `http://${addressIn(config.host)}:${port}`
  const lines = [
    'Plantstore is ready.',
    '',
    `  Address  ${address}`,
    `  API      ${address}/docs`,
    `  Store    ${shownStore(config.store)}`,
  ]
  if (config.token !== undefined) {
    lines.push('  Token    the configured one (PLANTSTORE_TOKEN or --token), with all scopes')
  }
  if (firstToken !== undefined)
    lines.push(`  Token    ${firstToken}`, '           (shown this once; keep it in a safe place)')
  lines.push(
    '',
    firstToken === undefined ? 'With a token of yours, try:' : 'Try:',
    '',
    `  ${curl(address, firstToken)}`,
    '',
  )
  return `${lines.join('\n')}\n`
}

/** One line that works when it is pasted into a shell. */
function curl(address: string, token = '$PLANTSTORE_TOKEN'): string {
  const plant = '{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}'
  return `curl -X POST ${address}/plants -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" -d '${plant}'`
}

/** A host that can stand in a URL; one that means every address of the machine is reached by its own. */
function addressIn(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
