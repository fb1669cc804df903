import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../domain/errors.ts'
import { fullDisk, hasNoRoomToOpen, isWriteFault, sqliteFault } from '../errors.ts'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from '../write/writer.ts'

const { errno } = constants

/** Bytes of a page of the store. */
export const PAGE = 4096
/** Pages. The WAL-indexes of the store and of its search index take 32 KiB each when they are opened. */
const MIN_PAGES = 9
/** Pages of the reserve that open the store on a full disk. */
const OPENING_PAGES = 32
/**
 * Pages of the reserve: 4 MiB. Half of it takes what a checkpoint adds to the store's file, and the rest the log of
 * deletes. It is also the free space that writes which make the store longer leave to deletes.
 */
const PAGES = 1024

/** Bytes of a write that finds out whether there is space. A page of SQLite that did not fit was smaller. */
const PROBE = 2 ** 16
/** Node.js names no code for EDQUOT. */
const NO_SPACE = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG]

const fileOf = (path: string): string => `${path}.reserve`

/**
 * Reserves space in a file beside the store, and only a part of it when the disk is nearly full. It lets SQLite open the
 * store on a full disk, checkpoint its log there, and delete plants.
 */
export function keepReserve(path: string): void {
  const file = fileOf(path)
  const wanted = hasRoomToGrow(path, 2 * PAGES) ? PAGES : OPENING_PAGES
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) >= wanted * PAGE) return
  rmSync(file, { force: true })
  let pages = 0
  try {
    const fd = openSync(file, 'wx', 0o600)
    try {
      // A file system may store zeros without space. On a nearly full disk, a part of the reserve still helps.
      for (const page = Buffer.alloc(PAGE, 'reserve\n'); pages < wanted && writeSync(fd, page) === PAGE; ) pages++
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    if (pages < MIN_PAGES) rmSync(file, { force: true })
  }
}

/** Frees the reserve, except for the part that opens the store. @returns whether it has freed some */
export function giveReserve(path: string): boolean {
  const size = statSync(fileOf(path), { throwIfNoEntry: false })?.size ?? 0
  if (size <= OPENING_PAGES * PAGE) return false
  truncateSync(fileOf(path), OPENING_PAGES * PAGE)
  return true
}

/**
 * Whether the disk has space for these pages, and for as many as the reserve has besides. The system does not tell every
 * quota here, and no limit of the size of files.
 */
export function hasRoomToGrow(path: string, pages: number): boolean {
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize >= (PAGES + pages) * PAGE
}

/** Opens a store. On a full disk it first frees the space that `keepReserve` has reserved. */
export async function openWithReserve<T>(path: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const fault = sqliteFault(error)
    if (fault === undefined || !hasNoRoomToOpen(fault) || !existsSync(fileOf(path))) throw error
    rmSync(fileOf(path), { force: true })
    return open()
  }
}

/**
 * Returns an error like that of a full disk for a write that failed by a quota, or by a limit of the size of files, and
 * every other error unchanged. SQLite reports the first two like a failing disk, after which only a restart is safe.
 */
export function asFull(db: DatabaseSync, error: unknown): unknown {
  const fault = sqliteFault(error)
  const path = db.isOpen ? db.location() : null
  return fault !== undefined && isWriteFault(fault) && path !== null && hasNoSpace(path) ? fullDisk(error) : error
}

/** Whether a new file beside the store can't become longer than the store and its WAL. */
function hasNoSpace(path: string): boolean {
  const sizes = ['', '-wal'].map((suffix) => statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0)
  const probe = `${path}.probe`
  try {
    const file = openSync(probe, 'w', 0o600)
    try {
      rmSync(probe)
      return writeSync(file, Buffer.alloc(PROBE), 0, PROBE, Math.max(...sizes)) < PROBE
    } finally {
      closeSync(file)
    }
  } catch (error) {
    return NO_SPACE.includes(-((error as NodeJS.ErrnoException).errno ?? 0))
  }
}

/** Begins the store's WAL. Without space for the WAL, it calls `onNotice`, and the store stays readable. */
export async function beginLog(writer: Remote<SqliteWriter>, onNotice?: (text: string) => void): Promise<void> {
  try {
    await writer.beginLog()
  } catch (error) {
    if (!(error instanceof AppError) || error.number !== 50304) throw error
    onNotice?.('the store has no space left; reads continue, and writes resume once there is space')
  }
}
