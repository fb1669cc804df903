import { type Config, hostInUrl, publicUrlOf, shownStore } from '../settings/config.ts'
import type { FirstToken } from './token.ts'

interface BannerFacts {
  readonly config: Config
  readonly port: number
  /** The separate port for monitors; undefined when they use the port of the service. */
  readonly metricsPort: number | undefined
  readonly isNew: boolean
  /** The first token; undefined when this start made none. */
  readonly firstToken: FirstToken | undefined
}

export function banner({ config, port, metricsPort, isNew, firstToken }: BannerFacts): string {
  const address = publicUrlOf(config, port)
  const { host: monitors = config.host } = config.metricsPort ?? {}
  const lines = [
    'Plantstore is ready.',
    '',
    `  Address  ${address}`,
    ...pageLine(config, address, firstToken),
    `  API      ${address}${config.page ? '/docs' : '/openapi.json'}`,
    ...(metricsPort === undefined ? [] : [`  Metrics  http://${hostInUrl(monitors)}:${metricsPort}/metrics`]),
    `  Store    ${shownStore(config.store)}${isNew ? ' (new)' : ''}`,
    ...tokenLines(config, firstToken),
    '',
    firstToken === undefined || firstToken.kind === 'none' ? 'With a token of yours, try:' : 'Try:',
    '',
    `  ${curl(address, firstToken)}`,
    '',
  ]
  return `${lines.join('\n')}\n`
}

/** On a terminal, the address of the page holds the first token in its fragment, which a browser sends to no server. */
function pageLine({ page }: Config, address: string, first: FirstToken | undefined): string[] {
  if (!page) return []
  return [`  Page     ${address}/${first?.kind === 'shown' ? `#token=${first.secret}` : ''}`]
}

function tokenLines({ token }: Config, first: FirstToken | undefined): string[] {
  if (token !== undefined) return ['  Token    configured (PLANTSTORE_TOKEN or --token), with all scopes']
  switch (first?.kind) {
    case 'shown':
      return [`  Token    ${first.secret}`, '           (shown only once; keep it in a safe place)']
    case 'file':
      return [
        `  Token    in ${first.path}`,
        '           (only you can read it; keep the token in a safe place, then remove the file)',
      ]
    case 'none':
      return ['  Token    none yet; create one with "plantstore token create"']
    default:
      return []
  }
}

function curl(address: string, first: FirstToken | undefined): string {
  const plant = '{"id":1,"name":"Monstera deliciosa","tag":"houseplant"}'
  return `curl -X POST ${address}/plants -H "Authorization: Bearer ${tokenInShell(first)}" -H "Content-Type: application/json" -d '${plant}'`
}

function tokenInShell(first: FirstToken | undefined): string {
  if (first?.kind === 'shown') return first.secret
  return first?.kind === 'file' ? `$(cat '${first.path.replaceAll("'", `'\\''`)}')` : '$PLANTSTORE_TOKEN'
}
