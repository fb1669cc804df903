/** Yields the lines of a stream of UTF-8 as they arrive. The stream ends when the caller leaves the iteration early. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest: string[] = []
  let isWhole = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const [first = '', ...more] = decoder.decode(value, { stream: true }).split('\n')
      rest.push(first)
      for (const part of more) {
        yield rest.join('')
        rest = [part]
      }
    }
    isWhole = true
  } finally {
    if (!isWhole) await reader.cancel().catch(() => {})
  }
  const last = rest.join('') + decoder.decode()
  if (last !== '') yield last
}
