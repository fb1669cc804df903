import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'

/** Reads a chunked body (RFC 9112 section 7.1) from `from` on. @returns undefined if the body is incomplete */
export function dechunked(bytes: Buffer, from: number): { body: Buffer; end: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const end = lineEnd + 2 + size + 2
    if (Number.isNaN(size) || end > bytes.length) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), end }
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = end
  }
}

/** Decodes the content coding of a body. */
export function decoded(body: Buffer, coding: string | undefined): Buffer {
  if (coding === undefined) return body
  const decode = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }[coding]
  if (decode === undefined) throw new Error(`no answer has the content coding ${coding}`)
  return decode(body)
}
