const MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** The same bytes without the UTF-8 byte order mark that programs on Windows put before a text. */
export async function* withoutMark(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of source) {
    if (head === undefined) {
      yield chunk
    } else {
      head = Buffer.concat([head, chunk])
      if (head.length < MARK.length && MARK.subarray(0, head.length).equals(head)) continue
      yield head.subarray(head.indexOf(MARK) === 0 ? MARK.length : 0)
      head = undefined
    }
  }
  if (head !== undefined && head.length > 0) yield head
}
