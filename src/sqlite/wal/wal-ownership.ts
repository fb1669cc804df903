import { randomInt } from 'node:crypto'
import { readSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { withOpen } from '../../base/files.ts'

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
    const wal = readWal(`${path}-wal`, page)
    // During a checkpoint, the WAL may have the pages that the file lacks. No process shortens the file.
    if (wal?.hasPage !== true && statSync(path).size < sizeIn(page)) return 'truncated'
    if (wal === undefined || belongs(page, wal)) return 'own'
    // Another process may have checkpointed the WAL between the two reads.
    if (firstPageOf(path).equals(page) && readWal(`${path}-wal`, page)?.salts === wal.salts) return 'foreign'
  }
  return 'own'
}

const pageSizeIn = (header: Buffer): number => (header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16))

/** Bytes of the whole file. */
const sizeIn = (header: Buffer): number => header.readUInt32BE(28) * pageSizeIn(header)

function belongs(page: Buffer, { oldest, isAlone, hasPage }: Wal): boolean {
  if (oldest === undefined || hasPage) return true
  const epoch = page.readUInt32BE(USER_VERSION)
  const first = oldest.readUInt32BE(USER_VERSION)
  if (first !== epoch) return follows(first, epoch)
  // SQLite's own backup sets another schema cookie.
  const changes = oldest.readUInt32BE(SCHEMA_COOKIE) - page.readUInt32BE(SCHEMA_COOKIE)
  return isAlone ? changes === 0 || changes === 1 : changes >= 0
}

const firstPageOf = (path: string): Buffer =>
  withOpen(path, 'r', (file) => {
    const header = Buffer.alloc(100)
    readSync(file, header, 0, header.length, 0)
    const page = Buffer.alloc(pageSizeIn(header))
    readSync(file, page, 0, page.length, 0)
    return page
  })

/**
 * Advances the epoch: a number on the first page of the store (`PRAGMA user_version`), which shows whether a WAL belongs
 * to the store. Call it in a transaction of its own.
 *
 * The epoch advances by one before and after each checkpoint. So the first page in a WAL names the state of the file
 * that the WAL continues (docs/decisions/0022-logs-and-their-stores.md).
 */
export function advanceEpoch(db: DatabaseSync): void {
  db.exec(`PRAGMA user_version = ${epochAfter(epochIn(db))}`)
}

/** An epoch has 31 bits. It is never 0: that is the user_version of a store without epochs. */
const LAST = 2 ** 31 - 1
/** First epochs are random multiples of STRIDE, so the epochs of two stores are far apart. */
const STRIDE = 2 ** 16

const firstEpoch = (): number => randomInt(1, 2 ** 15) * STRIDE

const epochAfter = (epoch: number): number => (epoch === 0 ? firstEpoch() : epoch === LAST ? 1 : epoch + 1)

/** Gives a copy of a store a first epoch, far from that of its original. Call it inside a transaction of the copy. */
export function renewEpoch(db: DatabaseSync): void {
  const original = epochIn(db)
  let epoch: number
  do epoch = firstEpoch()
  while (Math.abs(epoch - original) < 2 * STRIDE)
  db.exec(`PRAGMA user_version = ${epoch}`)
}

const epochIn = (db: DatabaseSync): number => Number(db.prepare('PRAGMA user_version').get()?.['user_version'])

/** Whether `epoch` may be the one that followed `before`. */
const follows = (epoch: number, before: number): boolean =>
  before === 0 ? epoch % STRIDE === 0 : epochAfter(before) === epoch

const HEADER = 32
const FRAME_HEADER = 24
const MAGIC = 0x377f0682
const VERSION = 3007000
const PAGE_SIZES: ReadonlySet<number> = new Set(Array.from({ length: 8 }, (_, i) => 512 << i))

/** The committed transactions of a write-ahead log. */
interface Wal {
  /** SQLite changes the salts when it restarts the WAL. */
  readonly salts: string
  /** The oldest version of the database's first page. */
  readonly oldest: Buffer | undefined
  /** Whether the transaction of that version wrote no other page. */
  readonly isAlone: boolean
  /** Whether some version of the first page has exactly the bytes of the given one. */
  readonly hasPage: boolean
}

/**
 * Reads a WAL as SQLite's recovery does (https://sqlite.org/fileformat2.html section 4): up to the last commit before
 * the first incomplete frame. SQLite holds no locks on a WAL, so this is safe at any time.
 *
 * @param page the version of the first page to look for
 * @returns undefined when there is no WAL, or none of which SQLite would recover a transaction
 */
function readWal(path: string, page: Buffer): Wal | undefined {
  try {
    return withOpen(path, 'r', (file) => readFrames(file, page))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

function readFrames(file: number, page: Buffer): Wal | undefined {
  const header = Buffer.alloc(HEADER)
  if (readSync(file, header, 0, HEADER, 0) < HEADER) return undefined
  const magic = header.readUInt32BE(0)
  const pageSize = header.readUInt32BE(8)
  if ((magic & ~1) >>> 0 !== MAGIC || header.readUInt32BE(4) !== VERSION || !PAGE_SIZES.has(pageSize)) return undefined
  const isLittleEndian = (magic & 1) === 0
  let sum = sumAfter([0, 0], header.subarray(0, 24), isLittleEndian)
  if (!hasSum(header, 24, sum)) return undefined

  const frame = Buffer.alloc(FRAME_HEADER + pageSize)
  let found: Wal | undefined
  /** The last version of the first page in the current transaction, and the frames of the transaction. */
  let first: Buffer | undefined
  let frames = 0
  for (let at = HEADER; readSync(file, frame, 0, frame.length, at) === frame.length; at += frame.length) {
    sum = sumAfter(sum, frame.subarray(0, 8), isLittleEndian)
    sum = sumAfter(sum, frame.subarray(FRAME_HEADER), isLittleEndian)
    if (!hasSum(frame, 16, sum)) break
    frames++
    if (frame.readUInt32BE(0) === 1) first = Buffer.from(frame.subarray(FRAME_HEADER))
    // Only the last frame of a transaction has the size of the database after it.
    if (frame.readUInt32BE(4) === 0) continue
    found = {
      salts: header.toString('hex', 16, 24),
      oldest: found?.oldest ?? first,
      isAlone: found?.oldest === undefined ? frames === 1 : found.isAlone,
      hasPage: found?.hasPage === true || first?.equals(page) === true,
    }
    first = undefined
    frames = 0
  }
  return found
}

type Sum = readonly [number, number]

/** The checksum in every frame is over all frames before it (https://sqlite.org/fileformat2.html section 4.2). */
function sumAfter([first, second]: Sum, bytes: Buffer, isLittleEndian: boolean): Sum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let i = 0; i < bytes.length; i += 8) {
    first = (first + view.getUint32(i, isLittleEndian) + second) | 0
    second = (second + view.getUint32(i + 4, isLittleEndian) + first) | 0
  }
  return [first, second]
}

const hasSum = (bytes: Buffer, at: number, [first, second]: Sum): boolean =>
  bytes.readInt32BE(at) === first && bytes.readInt32BE(at + 4) === second
