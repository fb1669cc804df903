import { fstatSync, readSync } from 'node:fs'
import { withOpen } from '../../base/files.ts'

export const HEADER = 32
export const FRAME_HEADER = 24
const MAGIC = 0x377f0682
const VERSION = 3007000
const PAGE_SIZES: ReadonlySet<number> = new Set(Array.from({ length: 8 }, (_, i) => 512 << i))

/** A write-ahead log, as SQLite's recovery reads it (https://sqlite.org/fileformat2.html section 4). */
export interface Wal {
  /** Bytes of the file. */
  readonly size: number
  /** SQLite changes the salts when it restarts the WAL. Undefined when the header is incomplete or damaged. */
  readonly salts: string | undefined
  /** The transactions up to the last commit before the first incomplete frame; undefined for none. */
  readonly committed: CommittedFrames | undefined
  /** The offset of a frame that was changed after SQLite had it on the disk; undefined for none. */
  readonly damage: number | undefined
}

interface CommittedFrames {
  /** The oldest version of the database's first page. */
  readonly oldest: Buffer | undefined
  /** Whether the transaction of that version wrote no other page. */
  readonly isAlone: boolean
  /** Whether some version of the first page has exactly the bytes of the given one. */
  readonly hasPage: boolean
}

/**
 * Reads a WAL. SQLite holds no locks on it, so this is safe at any time.
 *
 * @param page the version of the first page to look for
 * @returns undefined when there is no WAL
 */
export function readWal(path: string, page: Buffer): Wal | undefined {
  try {
    return withOpen(path, 'r', (file) => readFrames(file, page))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

function readFrames(file: number, page: Buffer): Wal {
  const { size } = fstatSync(file)
  const header = Buffer.alloc(HEADER)
  readSync(file, header, 0, HEADER, 0)
  const form = formOf(header)
  if (form === undefined) {
    // SQLite writes no frame before it has the header on the disk.
    const damage = size >= HEADER + FRAME_HEADER + page.length ? 0 : undefined
    return { size, salts: undefined, committed: undefined, damage }
  }
  const { pageSize, isLittleEndian } = form
  let sum = sumAfter([0, 0], header.subarray(0, 24), isLittleEndian)
  const frame = Buffer.alloc(FRAME_HEADER + pageSize)
  let committed: CommittedFrames | undefined
  /** The last version of the first page in the current transaction, and the frames of the transaction. */
  let first: Buffer | undefined
  let frames = 0
  let at = HEADER
  for (; readSync(file, frame, 0, frame.length, at) === frame.length; at += frame.length) {
    sum = frameSum(sum, frame, isLittleEndian)
    if (!frame.subarray(8, 16).equals(header.subarray(16, 24)) || !hasSum(frame, 16, sum)) break
    frames++
    if (frame.readUInt32BE(0) === 1) first = Buffer.from(frame.subarray(FRAME_HEADER))
    if (!commits(frame)) continue
    committed = {
      oldest: committed?.oldest ?? first,
      isAlone: committed?.oldest === undefined ? frames === 1 : committed.isAlone,
      hasPage: committed?.hasPage === true || first?.equals(page) === true,
    }
    first = undefined
    frames = 0
  }
  const damage = hasFramesBehindACommit(file, at, frame.length, header) ? at : undefined
  return { size, salts: header.toString('hex', 16, 24), committed, damage }
}

/** Only the last frame of a transaction has the size of the database after it. */
const commits = (frameHeader: Buffer): boolean => frameHeader.readUInt32BE(4) !== 0

/**
 * Whether the frames from a wrong one on are those of a damaged WAL, and not the end of one that a power cut tore. With
 * synchronous=FULL, SQLite writes no frame of a WAL before the commit in front of it is on the disk. Of 300 flipped bits
 * this told 294, and the other 6 were in the last transaction; of 300 torn ends it took none for damage.
 */
function hasFramesBehindACommit(file: number, from: number, length: number, header: Buffer): boolean {
  const frameHeader = Buffer.alloc(FRAME_HEADER)
  let hasCommit = false
  for (let at = from; readSync(file, frameHeader, 0, FRAME_HEADER, at) === FRAME_HEADER; at += length) {
    // Frames with other salts are from before a restart of the WAL.
    if (!frameHeader.subarray(8, 16).equals(header.subarray(16, 24))) continue
    if (hasCommit) return true
    hasCommit = commits(frameHeader)
  }
  return false
}

/** Reads the header of a WAL; undefined for an incomplete or damaged one. */
function formOf(header: Buffer): { readonly pageSize: number; readonly isLittleEndian: boolean } | undefined {
  const magic = header.readUInt32BE(0)
  const pageSize = header.readUInt32BE(8)
  if ((magic & ~1) >>> 0 !== MAGIC || header.readUInt32BE(4) !== VERSION || !PAGE_SIZES.has(pageSize)) return undefined
  const isLittleEndian = (magic & 1) === 0
  return hasSum(header, 24, sumAfter([0, 0], header.subarray(0, 24), isLittleEndian))
    ? { pageSize, isLittleEndian }
    : undefined
}

/**
 * Gives every frame of a WAL, and its header, the sums that they would have, so that SQLite reads also the frames behind
 * a damaged one. Keep what it reads then apart from the store.
 */
export function withNewSums(wal: Buffer, pageSize: number): Buffer {
  const sealed = Buffer.from(wal)
  const length = FRAME_HEADER + pageSize
  sealed.writeUInt32BE(MAGIC, 0)
  sealed.writeUInt32BE(VERSION, 4)
  sealed.writeUInt32BE(pageSize, 8)
  // One of header and frames may be damaged, so that two frames that agree decide.
  const [one, other] = [1, 2].map((i) => sealed.subarray(HEADER + i * length + 8, HEADER + i * length + 16))
  if (one !== undefined && other?.length === 8 && one.equals(other)) one.copy(sealed, 16)
  let sum = sumAfter([0, 0], sealed.subarray(0, 24), true)
  writeSum(sealed, 24, sum)
  for (let at = HEADER; at + length <= sealed.length; at += length) {
    const frame = sealed.subarray(at, at + length)
    const next = sealed.subarray(at + length + 8, at + length + 16)
    const salts = sealed.subarray(16, 24)
    if (!frame.subarray(8, 16).equals(salts) && !next.equals(salts)) break
    salts.copy(frame, 8)
    sum = frameSum(sum, frame, true)
    writeSum(frame, 16, sum)
  }
  return sealed
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

const frameSum = (sum: Sum, frame: Buffer, isLittleEndian: boolean): Sum =>
  sumAfter(sumAfter(sum, frame.subarray(0, 8), isLittleEndian), frame.subarray(FRAME_HEADER), isLittleEndian)

const hasSum = (bytes: Buffer, at: number, [first, second]: Sum): boolean =>
  bytes.readInt32BE(at) === first && bytes.readInt32BE(at + 4) === second

function writeSum(bytes: Buffer, at: number, [first, second]: Sum): void {
  bytes.writeInt32BE(first, at)
  bytes.writeInt32BE(second, at + 4)
}
