import { createHash } from 'node:crypto'
import { assetsIn, readAsset } from '../../base/assets.ts'
import { AppError } from '../../domain/errors.ts'
import type { Exchange } from '../exchange.ts'
import { type EntityTags, isFresh } from '../request/entity-tags.ts'
import { preferredType } from '../request/negotiation.ts'
import type { Responder } from '../response/responder.ts'

/** Allows no inline script and no other origin, so that no answer of the service becomes a part of a page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
const FOLDERS = {
  start: new URL('../../../web/dist/', import.meta.url),
  docs: new URL('../../../web/dist-docs/', import.meta.url),
}
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

export interface StaticFile {
  readonly bytes: Buffer
  /** All headers but Content-Type, which a 304 leaves out. */
  readonly headers: readonly string[]
  readonly type: string
  readonly etag: string
}

/** The files of a page, by their names. */
export function readPage(page: keyof typeof FOLDERS): Map<string, StaticFile> {
  const folder = FOLDERS[page]
  const policy = ['Content-Security-Policy', POLICY]
  return new Map(
    assetsIn(folder).map((name) => {
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
      return [name, staticFile(readAsset(new URL(name, folder)), type, policy)]
    }),
  )
}

/** @param headers further headers of the file, names and values in turn */
export function staticFile(bytes: Buffer, type: string, headers: readonly string[]): StaticFile {
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`
  // One minute: a reload within it sends no requests, and an update shows soon after.
  return {
    bytes,
    type,
    etag,
    headers: [...headers, 'ETag', etag, 'Cache-Control', 'max-age=60'],
  }
}

/** @throws AppError 40601 when Accept excludes the type of the file */
export function answerFile(
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
