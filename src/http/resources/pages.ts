import { createHash } from 'node:crypto'
import { assetsIn, readAsset } from '../../base/assets.ts'
import { AppError } from '../../domain/errors.ts'
import { SCOPES } from '../../domain/token.ts'
import type { Config } from '../../settings/config.ts'
import type { BasePath } from '../answer/base-path.ts'
import { JSON_TYPE, jsonHeaders, type Responder } from '../answer/responder.ts'
import type { Exchange } from '../request/exchange.ts'
import { type EntityTags, isFresh, preferredType, readEntityTags } from '../request/head.ts'
import { foreignOperation } from '../request/operations.ts'
import { contractWithTextIds } from '../request/text-ids.ts'
import { addForeign, type HandlerParts, type Handlers, type RouteOptions, type Router } from '../router.ts'

/** The handlers of the page at /. `npm run generate` builds its script from the sources in `web/src`. */
export function pageHandlers({ responder, config, base }: HandlerParts): Pick<Handlers, 'getStart' | 'getPageFile'> {
  const facts: Readonly<Record<string, string | undefined>> = {
    'public-url': config.publicUrl,
    'public-view': config.public && 'on',
    ...signInFacts(config),
  }
  const issuer = facts['oidc-issuer']
  const peer = issuer === undefined ? undefined : new URL(issuer).origin
  const files = config.page ? withWorker(readPage('start', base, facts, peer)) : new Map([[WORKER, leavingWorker()]])
  const start = files.get('index.html')
  return {
    getStart(exchange, { 'If-None-Match': tags }) {
      // A client that prefers no type is a program.
      const type = preferredType(exchange.request.headers.accept, ['application/json', 'text/html'])
      if (type === 'text/html' && start !== undefined) answerFile(responder, exchange, tags, start)
      else responder.reply(exchange, 303, ['Location', '/openapi.json'], '')
    },
    getPageFile(exchange, { file: name, 'If-None-Match': tags }) {
      answerFile(responder, exchange, tags, fileIn(files, name, '/'))
    },
  }
}

/** What the page needs to sign people in with the identity provider, by the names of its elements `meta`. */
function signInFacts(config: Config): Readonly<Record<string, string | undefined>> {
  const { oidcIssuer, oidcClientId, oidcScopeClaim, oidcScopeMap } = config
  if (oidcIssuer === undefined || oidcClientId === undefined) return {}
  // Values of other claims, such as roles, are nothing that a client asks for.
  const asked = ['scope', 'scp'].includes(oidcScopeClaim) ? oidcScopeMap.map(([from]) => from) : []
  const scope = [...new Set(['openid', 'profile', ...asked])].join(' ')
  return { 'oidc-issuer': oidcIssuer, 'oidc-client-id': oidcClientId, 'oidc-scope': scope }
}

/** The handlers of the contract as JSON, and of the page that shows it, unless the page is switched off. */
export function docsHandlers(parts: HandlerParts): Pick<Handlers, 'getContract' | 'getDocs' | 'getDocsFile'> {
  const { contract, responder, base } = parts
  const { page, publicUrl } = parts.config
  const files = page ? readPage('docs', base) : NO_FILES
  const servers = publicUrl === undefined ? {} : { servers: [{ url: publicUrl }] }
  const fileOfContract = (document: object) =>
    staticFile(Buffer.from(JSON.stringify({ ...document, ...servers })), JSON_TYPE, [])
  const document = fileOfContract(contract.document)
  let withTextIds: StaticFile | undefined
  const inTextForm = () => {
    withTextIds ??= fileOfContract(contractWithTextIds(contract.document))
    return withTextIds
  }
  const fileOf = (name: string): StaticFile => fileIn(files, name, '/docs')
  return {
    getContract: (exchange, { ids, 'If-None-Match': tags }) =>
      answerFile(responder, exchange, tags, ids === 'text' || exchange.prefix !== '' ? inTextForm() : document),
    getDocs: (exchange, { 'If-None-Match': tags }) => answerFile(responder, exchange, tags, fileOf('index.html')),
    getDocsFile: (exchange, { file, 'If-None-Match': tags }) => answerFile(responder, exchange, tags, fileOf(file)),
  }
}

/** @throws AppError 40401 */
function fileIn(files: ReadonlyMap<string, StaticFile>, name: string, page: string): StaticFile {
  const file = files.get(name)
  if (file === undefined) throw new AppError(40401, `the page at ${page} has no such file, or is switched off`)
  return file
}

const NO_FILES: ReadonlyMap<string, StaticFile> = new Map()

/** Allows no inline script and no other origin, so that no answer of the service becomes a part of a page. */
const POLICY =
  "style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
/**
 * The scripts of each page. The one at / compiles the WebAssembly that reads codes of labels, and no text (CSP level 3). It
 * keeps itself on the device by one script, whose address is a constant, and the file that names the page.
 */
const SCRIPTS = {
  start:
    "script-src 'self' 'wasm-unsafe-eval'; trusted-types plantstore-worker; worker-src 'self'; manifest-src 'self'",
  docs: "script-src 'self'; trusted-types 'none'",
}
/** The service worker of the page, and what takes it away from browsers where the page is switched off. */
const WORKER = 'worker.js'
const LEAVING_WORKER = 'leave.js'

const FOLDERS = {
  start: new URL('../../../web/dist/', import.meta.url),
  docs: new URL('../../../web/dist-docs/', import.meta.url),
}
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  wasm: 'application/wasm',
  webmanifest: 'application/manifest+json',
  png: 'image/png',
}

interface StaticFile {
  readonly bytes: Buffer
  /** All headers but Content-Type, which a 304 leaves out. */
  readonly headers: readonly string[]
  readonly type: string
  readonly etag: string
}

/**
 * The files of a page, by their names.
 *
 * @param base the path that the addresses in the page begin with
 * @param facts the contents of elements `meta` by their names, for the page
 * @param peer the only other origin to which the page may send requests
 */
function readPage(
  page: keyof typeof FOLDERS,
  { path: base }: BasePath,
  facts: Readonly<Record<string, string | undefined>> = {},
  peer?: string,
): Map<string, StaticFile> {
  const folder = FOLDERS[page]
  const connect = peer === undefined ? "connect-src 'self'" : `connect-src 'self' ${peer}`
  const policy = ['Content-Security-Policy', `default-src 'none'; ${connect}; ${SCRIPTS[page]}; ${POLICY}`]
  return new Map(
    assetsIn(folder).map((name) => {
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
      const bytes = readAsset(new URL(name, folder))
      return [name, staticFile(name === 'index.html' ? completed(bytes, base, facts) : bytes, type, policy)]
    }),
  )
}

/** Lets the service worker control the page, which is in the folder above it. */
const SCOPE = ['Service-Worker-Allowed', '../']

const leavingWorker = (): StaticFile =>
  staticFile(readAsset(new URL(LEAVING_WORKER, FOLDERS.start)), TYPES['js'] ?? '', SCOPE)

/** Tells the service worker which files belong together: a browser has a later version when one of them changes. */
function withWorker(files: ReadonlyMap<string, StaticFile>): ReadonlyMap<string, StaticFile> {
  const worker = files.get(WORKER)
  if (worker === undefined) return files
  const kept = [...files].filter(([name]) => ![WORKER, LEAVING_WORKER].includes(name))
  const version = createHash('sha256')
  for (const { headers } of files.values()) version.update(headers.join('\n'))
  const script = worker.bytes
    .toString('utf8')
    .replace('PLANTSTORE_VERSION', version.digest('hex').slice(0, 16))
    .replace('PLANTSTORE_FILES', kept.map(([name, { etag }]) => name + etag.replaceAll('"', ':')).join(' '))
  return new Map([...files, [WORKER, staticFile(Buffer.from(script), worker.type, SCOPE)]])
}

function completed(page: Buffer, base: string, facts: Readonly<Record<string, string | undefined>>): Buffer {
  const metas = Object.entries(facts).flatMap(([name, content]) =>
    content === undefined ? [] : [`<meta name="${name}" content="${escaped(content)}">\n`],
  )
  const text = page.toString('utf8').replaceAll('="/', `="${base}/`)
  return Buffer.from(text.replace('</head>', () => `${metas.join('')}</head>`))
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')

/** @param headers further headers of the file, names and values in turn */
function staticFile(bytes: Buffer, type: string, headers: readonly string[]): StaticFile {
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`
  // One minute: a reload within it sends no requests, and an update shows soon after.
  return { bytes, type, etag, headers: [...headers, 'ETag', etag, 'Cache-Control', 'max-age=60'] }
}

/** @throws AppError 40601 when Accept excludes the type of the file */
function answerFile(
  responder: Responder,
  exchange: Exchange,
  ifNoneMatch: EntityTags | undefined,
  { bytes, headers, type, etag }: StaticFile,
): void {
  // The contract names the types of all files together.
  const [mediaType = type] = type.split(';', 1)
  if (preferredType(exchange.request.headers.accept, [mediaType]) === undefined) {
    throw new AppError(40601, `Accept excludes the media type of the file, ${mediaType}`)
  }
  if (isFresh(ifNoneMatch, etag)) responder.notModified(exchange, [...headers], bytes)
  else responder.replyFile(exchange, ['Content-Type', type, ...headers], bytes)
}

/** The handler of the metadata by which clients of OAuth find the identity provider (RFC 9728). */
export function resourceMetadataHandlers(parts: HandlerParts): Pick<Handlers, 'getResourceMetadata'> {
  const { responder, origin } = parts
  const { oidcIssuer } = parts.config
  return {
    getResourceMetadata(exchange) {
      if (oidcIssuer === undefined) throw new AppError(40401, 'this service takes no tokens of an identity provider')
      const metadata = {
        resource: origin(),
        authorization_servers: [oidcIssuer],
        scopes_supported: SCOPES,
        bearer_methods_supported: ['header'],
        resource_name: 'Plantstore',
        resource_documentation: `${origin()}/openapi.json`,
      }
      responder.reply(exchange, 200, jsonHeaders('max-age=60'), JSON.stringify(metadata))
    },
  }
}

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
  const icon = staticFile(readAsset(new URL('icon.svg', FOLDERS.start)), TYPES['svg'] ?? '', [])
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
    .map(
      ({ method, path, scopes = [], summary }) =>
        `- \`${method} ${path}\` (${scopes.join(', ') || 'any token'}): ${summary}`,
    )
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
