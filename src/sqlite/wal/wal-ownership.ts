import { randomInt } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

/** Offsets in the header on the first page (https://sqlite.org/fileformat2.html section 1.3). */
const SCHEMA_COOKIE = 40
const USER_VERSION = 60
/** Attempts while the store and its WAL change. */
const ATTEMPTS = 5

/**
 * Decides whether a WAL belongs to the store's file. It reads the file, so this process must not have the store open.
 * Other processes may have it open, and write.
 *
 * A WAL continues one state of the file, its base. A checkpoint copies pages of the WAL into the file. So the first
 * page of the file comes from the base or from the WAL, and the oldest first page in the WAL has the epoch after that of
 * the base.
 *
 * @returns `truncated` when the file is shorter than its first page says
 */
export function judgeWal(path: string): 'own' | 'foreign' | 'truncated' {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const page = firstPageOf(path)
    const log = readWal(`${path}-wal`, page)
    const isInUse = log !== undefined && log.transactions > 0
    // During a checkpoint, the WAL may have the pages that the file lacks. No process shortens the file.
    const isCheckpointing = isInUse && log.hasFirstPage
    if (!isCheckpointing && statSync(path).size < sizeIn(page)) return 'truncated'
    if (!isInUse || belongs(page, log)) return 'own'
    // Another process may have checkpointed the WAL between the two reads.
    const isStill = firstPageOf(path).equals(page) && readWal(`${path}-wal`, page)?.salts === log.salts
    if (isStill) return 'foreign'
  }
  return 'own'
}

const pageSizeIn = (header: Buffer): number => (header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16))

/** Bytes of the whole file. */
const sizeIn = (header: Buffer): number => header.readUInt32BE(28) * pageSizeIn(header)

function belongs(page: Buffer, { firstPage, hasFirstPage }: WalFile): boolean {
  if (firstPage === undefined || hasFirstPage) return true
  const { bytes, isAlone } = firstPage
  const epoch = page.readUInt32BE(USER_VERSION)
  const oldest = bytes.readUInt32BE(USER_VERSION)
  if (follows(oldest, epoch)) return true
  if (oldest !== epoch) return false
  // The oldest first page in the WAL has the epoch of the file. SQLite's own backup sets another schema cookie.
  const changes = bytes.readUInt32BE(SCHEMA_COOKIE) - page.readUInt32BE(SCHEMA_COOKIE)
  return isAlone ? changes === 0 || changes === 1 : changes >= 0
}

function firstPageOf(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const header = Buffer.alloc(100)
    readSync(file, header, 0, header.length, 0)
    const page = Buffer.alloc(pageSizeIn(header))
    readSync(file, page, 0, page.length, 0)
    return page
  } finally {
    closeSync(file)
  }
}

/**
 * Advances the epoch: a number on the first page of the store (`PRAGMA user_version`), which shows whether a WAL belongs
 * to the store. Call it in a transaction of its own.
 *
 * The epoch advances by one before and after each checkpoint. So the first page in a WAL names the state of the file
 * that the WAL continues (docs/decisions/0022-logs-and-their-stores.md).
 */
export function advanceEpoch(db: DatabaseSync): void {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: bigint }
  db.exec(`PRAGMA user_version = ${epochAfter(Number(user_version))}`)
}

/** An epoch has 31 bits. It is never 0: that is the user_version of a store without epochs. */
const LAST = 2 ** 31 - 1
/** First epochs are random multiples of STRIDE, so the epochs of two stores are far apart. */
const STRIDE = 2 ** 16

const firstEpoch = (): number => randomInt(1, 2 ** 15) * STRIDE

const epochAfter = (epoch: number): number => {
  if (epoch === 0) return firstEpoch()
  return epoch === LAST ? 1 : epoch + 1
}

/**
 * Gives a copy of a store a first epoch, far from the epoch of its original. Call it inside a transaction of the copy.
 */
export function renewEpoch(db: DatabaseSync): void {
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: bigint }
  let epoch: number
  do epoch = firstEpoch()
  while (Math.abs(epoch - Number(user_version)) < 2 * STRIDE)
  db.exec(`PRAGMA user_version = ${epoch}`)
}

/** Whether `epoch` may be the one that followed `before`. */
export const follows = (epoch: number, before: number): boolean =>
  before === 0 ? epoch !== 0 && epoch % STRIDE === 0 : epochAfter(before) === epoch

const HEADER = 32
const FRAME_HEADER = 24
const MAGIC = 0x377f0682
const VERSION = 3007000
const PAGE_SIZES: ReadonlySet<number> = new Set(Array.from({ length: 8 }, (_, i) => 512 << i))

/** A version of the database's first page that a transaction has written to the WAL. */
interface FirstPage {
  readonly bytes: Buffer
  /** Whether the transaction wrote no other page. */
  readonly isAlone: boolean
}

/** The committed transactions of a write-ahead log. */
interface WalFile {
  /** SQLite changes the salts when it restarts the WAL. */
  readonly salts: string
  /** The number of transactions. */
  readonly transactions: number
  /** The oldest version of the first page. */
  readonly firstPage: FirstPage | undefined
  /** Whether some version of the first page has exactly these bytes. */
  readonly hasFirstPage: boolean
}

/**
 * Reads a WAL as SQLite's recovery does (https://sqlite.org/fileformat2.html section 4): up to the last commit before
 * the first incomplete frame. SQLite holds no locks on a WAL, so this is safe at any time.
 *
 * @param page the version of the first page to look for
 * @returns undefined when there is no WAL or SQLite would ignore it
 */
function readWal(path: string, page: Buffer): WalFile | undefined {
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

function readFrames(file: number, page: Buffer): WalFile | undefined {
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
