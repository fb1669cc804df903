/** Why a workbook has no sheets. The last three are forms of other programs. */
export type Fault = 'unreadable' | 'locked' | 'large' | '.xls' | '.xlsb' | '.numbers'

export class WorkbookError extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault)
    this.fault = fault
  }
}

/**
 * Bytes to which the parts of a workbook may unpack: about 300,000 rows of 10 columns. A ZIP archive of a few kilobytes
 * can unpack to gigabytes.
 */
export const MOST_UNPACKED = 2 ** 27

interface Entry {
  readonly method: number
  readonly isLocked: boolean
  readonly packed: number
  readonly size: number
  /** CRC-32 of the unpacked bytes. */
  readonly sum: number
  /** Where the entry's own header begins. */
  readonly at: number
}

/** The end of the directory has 22 bytes, and a comment of at most 65,535. */
const END_LENGTH = 22
const MOST_COMMENT = 65_535
const END = 0x06054b50
const END_64 = 0x06064b50
const LOCATOR_64 = 0x07064b50
const ENTRY = 0x02014b50
const LOCAL = 0x04034b50
/** Bytes of these headers without their texts. */
const ENTRY_LENGTH = 46
const LOCAL_LENGTH = 30
const END_64_LENGTH = 56
const LOCATOR_LENGTH = 20
/** A size or place that ZIP64 has elsewhere. */
const ELSEWHERE = 0xffffffff
/** Bytes after which the page may draw and take input, and a command take signals. */
const SLICE = 2 ** 20
/** Packed bytes that are unpacked at once: a browser unpacks all of a piece before it can be stopped, to 1,032 times this. */
const PIECE = 2 ** 14
const STORED = 0
const DEFLATED = 8

/** Reads a ZIP archive (PKWARE's APPNOTE.TXT, with ZIP64) in pieces. No part takes more bytes than its entry says. */
export class Archive {
  readonly #file: Blob
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #signal: AbortSignal
  #left = MOST_UNPACKED

  private constructor(file: Blob, entries: ReadonlyMap<string, Entry>, signal: AbortSignal) {
    this.#file = file
    this.#entries = entries
    this.#signal = signal
  }

  /**
   * @param signal ends a read before its next piece
   * @throws WorkbookError for a file that is no archive
   */
  static async open(file: Blob, signal: AbortSignal): Promise<Archive> {
    const tailAt = Math.max(0, file.size - END_LENGTH - MOST_COMMENT - LOCATOR_LENGTH)
    const tail = await viewOf(file, tailAt, file.size)
    let at = tail.byteLength - END_LENGTH
    while (at >= 0 && tail.getUint32(at, true) !== END) at -= 1
    if (at < 0) throw new WorkbookError('unreadable')
    let [size, begin] = [tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)]
    if (at >= LOCATOR_LENGTH && tail.getUint32(at - LOCATOR_LENGTH, true) === LOCATOR_64) {
      const endAt = longAt(tail, at - LOCATOR_LENGTH + 8)
      const end = await viewOf(file, endAt, endAt + END_64_LENGTH)
      if (end.getUint32(0, true) !== END_64) throw new WorkbookError('unreadable')
      ;[size, begin] = [longAt(end, 40), longAt(end, 48)]
    }
    return new Archive(file, entriesIn(await viewOf(file, begin, begin + size)), signal)
  }

  has(path: string): boolean {
    return this.#entries.has(keyOf(path))
  }

  /**
   * Refuses an archive whose parts unpack to more than MOST_UNPACKED bytes, by its directory. The sizes there may be
   * wrong, so `textOf` counts again.
   */
  requireSmall(paths: readonly string[]): void {
    const total = paths.reduce((sum, path) => sum + (this.#entries.get(keyOf(path))?.size ?? 0), 0)
    if (total > MOST_UNPACKED) throw new WorkbookError('large')
  }

  /**
   * Yields the text of a part, in pieces.
   *
   * @throws WorkbookError if the part is absent, broken or locked, or when all parts so far exceed MOST_UNPACKED
   */
  async *textOf(path: string): AsyncGenerator<string, void> {
    const entry = this.#entries.get(keyOf(path))
    if (entry === undefined) throw new WorkbookError('unreadable')
    if (entry.isLocked) throw new WorkbookError('locked')
    const decoder = new TextDecoder('utf-8', { fatal: true })
    const reader = (await this.#open(entry)).getReader()
    let left = entry.size
    let sum = START
    let slice = SLICE
    // A read that ends early leaves the rest. To cancel it would fail in Node.js, outside of any promise.
    for (;;) {
      this.#signal.throwIfAborted()
      const { done, value } = await reader.read()
      if (done) break
      sum = sumWith(sum, value)
      left -= value.length
      this.#left -= value.length
      slice -= value.length
      if (slice < 0) {
        slice = SLICE
        await new Promise((resume) => setTimeout(resume))
      }
      if (left < 0) throw new WorkbookError('unreadable')
      if (this.#left < 0) throw new WorkbookError('large')
      yield decoder.decode(value, { stream: true })
    }
    // A damaged file may unpack to other texts without a fault.
    if ((sum ^ START) >>> 0 !== entry.sum) throw new WorkbookError('unreadable')
    yield decoder.decode()
  }

  async #open({ method, packed, at }: Entry): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const header = await viewOf(this.#file, at, at + LOCAL_LENGTH)
    if (header.getUint32(0, true) !== LOCAL) throw new WorkbookError('unreadable')
    const begin = at + LOCAL_LENGTH + header.getUint16(26, true) + header.getUint16(28, true)
    const data = sliced(this.#file, begin, begin + packed)
    if (method === STORED) return data
    if (method !== DEFLATED) throw new WorkbookError('unreadable')
    return data.pipeThrough(new DecompressionStream('deflate-raw'))
  }
}

function entriesIn(directory: DataView): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  let at = 0
  while (at + ENTRY_LENGTH <= directory.byteLength && directory.getUint32(at, true) === ENTRY) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      directory.getUint16(at + offset, true),
    )
    const nameAt = at + ENTRY_LENGTH
    const extraAt = nameAt + (nameLength ?? 0)
    const end = extraAt + (extraLength ?? 0)
    const name = new TextDecoder().decode(new Uint8Array(directory.buffer, nameAt, nameLength))
    const long = longsIn(directory, extraAt, end)
    const [size = 0, packed = 0, place = 0] = [24, 20, 42].map((offset) => {
      const value = directory.getUint32(at + offset, true)
      return value === ELSEWHERE ? (long.shift() ?? value) : value
    })
    const isLocked = (directory.getUint16(at + 8, true) & 1) === 1
    const [method, sum] = [directory.getUint16(at + 10, true), directory.getUint32(at + 16, true)]
    entries.set(keyOf(name), { method, isLocked, packed, size, sum, at: place })
    at = end + (commentLength ?? 0)
  }
  return entries
}

/** The CRC-32 of ZIP begins with ones, and ends inverted (APPNOTE.TXT, 4.4.7). Browsers have none. */
const START = 0xffffffff
const SUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
  return sum
})

export const checksum = (bytes: Uint8Array): number => (sumWith(START, bytes) ^ START) >>> 0

function sumWith(before: number, bytes: Uint8Array): number {
  let sum = before
  for (const byte of bytes) sum = (sum >>> 8) ^ (SUMS[(sum ^ byte) & 0xff] ?? 0)
  return sum
}

/** The numbers of ZIP64 in the extra field of an entry. */
function longsIn(directory: DataView, from: number, end: number): number[] {
  for (let at = from; at + 4 <= end; at += 4 + directory.getUint16(at + 2, true)) {
    if (directory.getUint16(at, true) !== 1) continue
    const count = Math.floor(directory.getUint16(at + 2, true) / 8)
    return Array.from({ length: Math.min(count, 3) }, (_, i) => longAt(directory, at + 4 + 8 * i))
  }
  return []
}

/** The bytes of a file in small pieces, read when they are asked for. */
function sliced(file: Blob, from: number, to: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = from
  return new ReadableStream({
    async pull(controller) {
      if (at >= to) return controller.close()
      const bytes = await file.slice(at, Math.min(to, at + PIECE)).arrayBuffer()
      if (bytes.byteLength === 0) throw new WorkbookError('unreadable')
      controller.enqueue(new Uint8Array(bytes))
      at += bytes.byteLength
    },
  })
}

const longAt = (view: DataView, at: number): number => Number(view.getBigUint64(at, true))

const viewOf = async (file: Blob, from: number, to: number): Promise<DataView> =>
  new DataView(await file.slice(from, to).arrayBuffer())

/** Names of parts have no case (ECMA-376 part 2). Some programs write backslashes, or other letters unescaped. */
function keyOf(path: string): string {
  const plain = path.replaceAll('\\', '/').replace(/^\//, '').toLowerCase()
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
