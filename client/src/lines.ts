/**
 * Yields the lines of a stream of UTF-8 as they arrive. The stream ends when the caller leaves the iteration early, or
 * the signal aborts.
 */
export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader()
  const end = () => void reader.cancel(signal?.reason).catch(() => {})
  signal?.addEventListener('abort', end)
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
    signal?.throwIfAborted()
    isWhole = true
  } finally {
    signal?.removeEventListener('abort', end)
    if (!isWhole) await reader.cancel().catch(() => {})
  }
  const last = rest.join('') + decoder.decode()
  if (last !== '') yield last
}
