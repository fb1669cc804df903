import { AppError } from '../../domain/errors.ts'
import type { Exchange } from '../request/exchange.ts'
import { readEntityTags } from '../request/head.ts'
import { foreignOperation } from '../request/operations.ts'
import { addForeign, type HandlerParts, type RouteOptions, type Router } from '../router.ts'
import { answerFile, iconFile, staticFile } from './pages.ts'

const SECURITY_PATH = '/.well-known/security.txt'

const DAY = 86_400_000

/** Days for which a copy of security.txt is good; RFC 9116 section 2.5.5 recommends less than a year. */
const SECURITY_DAYS = 90

const TEXT_TYPE = 'text/plain; charset=utf-8'

/**
 * Adds the files whose addresses are conventions of the web, so that the contract does not have them: the icon that
 * browsers ask for, llms.txt (https://llmstxt.org) and security.txt (RFC 9116).
 */
export function addWebFiles(router: Router, parts: HandlerParts, options: RouteOptions): void {
  const { responder, config } = parts
  const icon = iconFile()
  const add = (id: string, path: string, handler: (exchange: Exchange) => void) =>
    addForeign(router, foreignOperation({ id, method: 'GET', path }), handler, options)

  add('getIcon', '/favicon.ico', (exchange) => answerFile(responder, exchange, tagsOf(exchange), icon))

  add('getLlms', '/llms.txt', (exchange) =>
    answerFile(responder, exchange, tagsOf(exchange), staticFile(Buffer.from(llmsText(parts)), TEXT_TYPE, [])),
  )

  add('getSecurity', SECURITY_PATH, (exchange) => {
    const { securityContact } = config
    if (securityContact === undefined) {
      throw new AppError(40401, 'this service names no contact for reports of vulnerabilities')
    }
    // A whole day, so that the entity tag stays the same for as long.
    const expires = new Date((Math.floor(Date.now() / DAY) + SECURITY_DAYS) * DAY).toISOString()
    const text = `Contact: ${securityContact}\nExpires: ${expires}\nCanonical: ${parts.origin()}${SECURITY_PATH}\n`
    const file = staticFile(Buffer.from(text), TEXT_TYPE, [])
    answerFile(responder, exchange, tagsOf(exchange), file)
  })
}

const tagsOf = ({ request }: Exchange) => readEntityTags(request.headers['if-none-match'] ?? '')

/** What a program that reads texts must know to use the service, with the operations of the contract. */
function llmsText({ contract, config, origin }: HandlerParts): string {
  const operations = contract.operations
    .filter(({ scopes }) => scopes !== undefined)
    .map(({ method, path, scopes = [] }) => {
      const summary = contract.document.paths[path]?.[method.toLowerCase()]?.summary
      return `- \`${method} ${path}\` (${scopes.join(', ') || 'any token'}): ${summary}`
    })
  return `# Plantstore

> The record of every plant: an id (any int64), a name, an optional tag. A small, exact HTTP API at ${origin()}.

- Send \`Authorization: Bearer <token>\`; the operator gives you a token.
- Ids exceed what many programs count exactly. With \`Accept: application/json;IEEE754Compatible=true\` they are decimal
  texts such as "9007199254740993", and with the same \`Content-Type\` you may send them so.
- Every request is safe to repeat. A refusal is \`{"error": number, "message": text}\`, and changed nothing.
- Change a plant with \`If-Match\` and the \`ETag\` that you read, so that you overwrite no change of others.

## Docs

- [Contract](${origin()}/openapi.json?ids=text): OpenAPI 3.1, with ids as texts
${config.page ? `- [Contract as a page](${origin()}/docs): for people\n` : ''}${config.mcp === 'off' ? '' : `- Model Context Protocol: ${origin()}/mcp\n`}
## Operations, with the scopes that they need

${operations.join('\n')}
`
}
