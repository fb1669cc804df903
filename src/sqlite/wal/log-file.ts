import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const HEADER = 32
const FRAME_HEADER = 24
const MAGIC = 0x377f0682
const VERSION = 3007000
const PAGE_SIZES: ReadonlySet<number> = new Set(Array.from({ length: 8 }, (_, i) => 512 << i))

/** A version of the database's first page that a transaction has written to the log. */
export interface FirstPage {
  readonly bytes: Buffer
  /** Whether the transaction wrote no other page. */
  readonly isAlone: boolean
}

/** The committed transactions of a write-ahead log. */
export interface LogFile {
  /** SQLite changes the salts when it restarts the log. */
  readonly salts: string
  /** The number of transactions. */
  readonly transactions: number
  /** The oldest version of the first page. */
  readonly firstPage: FirstPage | undefined
  /** Whether some version of the first page has exactly these bytes. */
  readonly hasFirstPage: boolean
}

/**
 * Reads a log as SQLite's recovery does (https://sqlite.org/fileformat2.html section 4): up to the last commit before
 * the first incomplete frame. SQLite holds no locks on a log, so this is safe at any time.
 *
 * @param page the version of the first page to look for
 * @returns undefined when there is no log or SQLite would ignore it
 */
export function readLog(path: string, page: Buffer): LogFile | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return readFrames(file, page)
  } finally {
    closeSync(file)
  }
}

function readFrames(file: number, page: Buffer): LogFile | undefined {
  const header = Buffer.alloc(HEADER)
  if (readSync(file, header, 0, HEADER, 0) < HEADER) return undefined
  const magic = header.readUInt32BE(0)
  if ((magic & ~1) >>> 0 !== MAGIC || header.readUInt32BE(4) !== VERSION) return undefined
  const sum = new Checksum((magic & 1) === 0)
  sum.add(header, 0, 24)
  if (!sum.equals(header, 24)) return undefined

  const salts = header.toString('hex', 16, 24)
  const pageSize = header.readUInt32BE(8)
  if (!PAGE_SIZES.has(pageSize)) return undefined
  const frame = Buffer.alloc(FRAME_HEADER + pageSize)
  const { size } = fstatSync(file)
  let transactions = 0
  let firstPage: FirstPage | undefined
  let hasFirstPage = false
  /** The versions of the first page in the current transaction. */
  let written: Buffer[] = []
  let frames = 0
  for (let at = HEADER; at + frame.length <= size; at += frame.length) {
    if (readSync(file, frame, 0, frame.length, at) < frame.length) break
    if (frame.toString('hex', 8, 16) !== salts) break
    sum.add(frame, 0, 8)
    sum.add(frame, FRAME_HEADER, frame.length)
    if (!sum.equals(frame, 16)) break
    frames++
    if (frame.readUInt32BE(0) === 1) written.push(Buffer.from(frame.subarray(FRAME_HEADER)))
    if (frame.readUInt32BE(4) === 0) continue
    transactions++
    const first = written.at(-1)
    if (first !== undefined) {
      firstPage ??= { bytes: first, isAlone: frames === 1 }
      hasFirstPage ||= first.equals(page)
    }
    written = []
    frames = 0
  }
  return { salts, transactions, firstPage, hasFirstPage }
}

/**
 * The cumulative checksum in every frame, over all frames before it (https://sqlite.org/fileformat2.html section 4.2).
 */
class Checksum {
  readonly #isLittleEndian: boolean
  #first = 0
  #second = 0

  constructor(isLittleEndian: boolean) {
    this.#isLittleEndian = isLittleEndian
  }

  add(bytes: Buffer, start: number, end: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let first = this.#first
    let second = this.#second
    for (let i = start; i < end; i += 8) {
      first = (first + view.getUint32(i, this.#isLittleEndian) + second) | 0
      second = (second + view.getUint32(i + 4, this.#isLittleEndian) + first) | 0
    }
    this.#first = first
    this.#second = second
  }

  equals(bytes: Buffer, at: number): boolean {
    return bytes.readInt32BE(at) === this.#first && bytes.readInt32BE(at + 4) === this.#second
  }
}
