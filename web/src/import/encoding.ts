/** Encodings by the labels of TextDecoder. */
export const ENCODINGS = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16, big endian',
  'windows-1252': 'Windows-1252 (Western European)',
} as const

export type Encoding = keyof typeof ENCODINGS

/** Detects the encoding: by a byte order mark, else UTF-8 if the whole file is valid UTF-8, else Windows-1252. */
export async function encodingOf(file: Blob): Promise<Encoding> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  try {
    for await (const _ of file.stream().pipeThrough(new TextDecoderStream('utf-8', { fatal: true })));
    return 'utf-8'
  } catch (error) {
    if (error instanceof TypeError) return 'windows-1252'
    throw error
  }
}

/** Streams the text of a file without its byte order mark. */
export const textsOf = (file: Blob, encoding: Encoding): ReadableStream<string> =>
  file.stream().pipeThrough(new TextDecoderStream(encoding))
