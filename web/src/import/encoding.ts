import { encodingMark, KIND_LENGTH, requireText } from '../../../src/import/file-kind.ts'

/** Encodings by the labels of TextDecoder. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const

export type Encoding = (typeof ENCODINGS)[number]

/**
 * Detects the encoding: by a byte order mark, else UTF-8 if the whole file is valid UTF-8, else Windows-1252.
 *
 * @throws AppError that names the kind of a file that is no text
 */
export async function encodingOf(file: Blob): Promise<Encoding> {
  const start = new Uint8Array(await file.slice(0, KIND_LENGTH).arrayBuffer())
  requireText(start)
  const mark = encodingMark(start)
  if (mark !== undefined) return mark
  try {
    await file
      .stream()
      .pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
      .pipeTo(new WritableStream())
    return 'utf-8'
  } catch (error) {
    if (error instanceof TypeError) return 'windows-1252'
    throw error
  }
}

/** Yields the text of a file without its byte order mark, with LF for the CR by which old programs end lines. */
export async function* textsOf(file: Blob, encoding: Encoding): AsyncGenerator<string, void> {
  let isOld: boolean | undefined
  const reader = file.stream().pipeThrough(new TextDecoderStream(encoding)).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      isOld ??= value.includes('\r') && !value.includes('\n')
      yield isOld ? value.replaceAll('\r', '\n') : value
    }
  } finally {
    await reader.cancel()
  }
}
