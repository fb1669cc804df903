import { createHash } from 'node:crypto'
import { AppError } from '../../errors.ts'
import { ownFilesIn, readOwnFile } from '../../own-files.ts'
import type { Exchange } from '../exchange.ts'
import type { Contract } from '../operations.ts'
import { type EntityTags, isFresh } from '../request/entity-tags.ts'
import { preferredType } from '../request/negotiation.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'

const FOLDER = new URL('docs-page/', import.meta.url)
/** Nothing inline and nothing from elsewhere, so that no answer of the service can become a part of the page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

interface StaticFile {
  readonly bytes: Buffer
  /** All headers but Content-Type, which a 304 leaves out. */
  readonly headers: readonly string[]
  readonly type: string
  readonly etag: string
}

/**
 * The contract, as JSON and as a page.
 *
 * @param hasPage false: the service answers the page and its files with 404
 */
export function docsHandlers(
  contract: Contract,
  responder: Responder,
  hasPage: boolean,
): Pick<Handlers, 'getStart' | 'getContract' | 'getDocs' | 'getDocsFile'> {
  const files = hasPage ? readFiles() : new Map<string, StaticFile>()
  const document = staticFile(Buffer.from(JSON.stringify(contract.document)), JSON_TYPE, [])
  const answer = (exchange: Exchange, ifNoneMatch: EntityTags | undefined, file: StaticFile | undefined): void => {
    if (file === undefined) throw new AppError(40401, 'the page at /docs has no such file, or is switched off')
    const { bytes, headers, type, etag } = file
    // The contract names the types of all files together.
    const [mediaType = type] = type.split(';', 1)
    if (preferredType(exchange.request.headers.accept, [mediaType]) === undefined) {
      throw new AppError(40601, `Accept excludes the media type of the file, ${mediaType}`)
    }
    if (isFresh(ifNoneMatch, etag)) responder.notModified(exchange, [...headers], bytes)
    else responder.replyFile(exchange, ['Content-Type', type, ...headers], bytes)
  }
  return {
    getStart(exchange) {
      const type = preferredType(exchange.request.headers.accept, ['application/json', 'text/html'])
      const leadsToPage = type === 'text/html' && hasPage
      responder.reply(exchange, 303, ['Location', leadsToPage ? '/docs' : '/openapi.json'], '')
    },
    getContract: (exchange, { 'If-None-Match': tags }) => answer(exchange, tags, document),
    getDocs: (exchange, { 'If-None-Match': tags }) => answer(exchange, tags, files.get('index.html')),
    getDocsFile: (exchange, { file, 'If-None-Match': tags }) => answer(exchange, tags, files.get(file)),
  }
}

function readFiles(): Map<string, StaticFile> {
  const policy = ['Content-Security-Policy', POLICY]
  return new Map(
    ownFilesIn(FOLDER).map((name) => {
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
      return [name, staticFile(readOwnFile(new URL(name, FOLDER)), type, policy)]
    }),
  )
}

function staticFile(bytes: Buffer, type: string, headers: readonly string[]): StaticFile {
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`
  // A minute saves the requests of a reload, and shows an update soon after.
  return {
    bytes,
    type,
    etag,
    headers: [...headers, 'ETag', etag, 'Cache-Control', 'max-age=60'],
  }
}
