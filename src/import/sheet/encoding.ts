import { encodingMark, KIND_LENGTH, requireText } from '../file-kind.ts'
import { type Encoding, guessEncoding } from './guess-encoding.ts'

/** Bytes, from the first line on that is no ASCII in a piece that is no UTF-8, that show the encoding. */
const SAMPLE = 65_536

/**
 * Detects the encoding: by a byte order mark, else UTF-8 if the whole file is valid UTF-8, else by what its first lines
 * with bytes beyond ASCII read like.
 *
 * @throws AppError that names the kind of a file that is no text
 */
export async function encodingOf(file: Blob, mostSampled = SAMPLE): Promise<Encoding> {
  const start = new Uint8Array(await file.slice(0, KIND_LENGTH).arrayBuffer())
  requireText(start)
  const mark = encodingMark(start)
  if (mark !== undefined) return mark
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const reader = file.stream().getReader()
  let read = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (!decodes(utf8, value)) {
        const from = read + (value === undefined ? 0 : firstLineBeyondAscii(value))
        const sample = file.slice(from, from + mostSampled)
        return guessEncoding(new Uint8Array(await sample.arrayBuffer()))
      }
      if (done) return 'utf-8'
      read += value.length
    }
  } finally {
    await reader.cancel()
  }
}

const LF = 0x0a

/** Where the first line begins that has a byte beyond ASCII. */
function firstLineBeyondAscii(bytes: Uint8Array): number {
  const first = bytes.findIndex((byte) => byte > 0x7f)
  return bytes.lastIndexOf(LF, Math.max(0, first)) + 1
}

/** @param piece undefined at the end of the text */
function decodes(decoder: TextDecoder, piece: Uint8Array<ArrayBuffer> | undefined): boolean {
  try {
    decoder.decode(piece, { stream: piece !== undefined })
    return true
  } catch {
    return false
  }
}

/** Whether lines end by CR alone, as old programs write them. Cells in quotation marks may have an LF. */
export function endsByReturn(text: string): boolean {
  const plain = text.replaceAll(/"[^"]*(?:"|$)/g, '')
  return plain.includes('\r') && !plain.includes('\n')
}

/** Yields the text of a file without its byte order mark, with LF for the CR by which old programs end lines. */
export async function* textsOf(file: Blob, encoding: Encoding): AsyncGenerator<string, void> {
  let isOld: boolean | undefined
  const reader = file.stream().pipeThrough(new TextDecoderStream(encoding)).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      isOld ??= endsByReturn(value)
      yield isOld ? value.replaceAll('\r', '\n') : value
    }
  } finally {
    await reader.cancel()
  }
}
