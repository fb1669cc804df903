import { existsSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasNoRoomToOpen } from '../errors.ts'

/** Bytes of a page of the store. */
export const PAGE = 4096
/** Pages. The WAL-indexes of the store and of its search index take 32 KiB each when they are opened. */
const MIN_PAGES = 9
const OPENING_PAGES = 32
/**
 * Pages of the reserve: 4 MiB. Half of it takes what a checkpoint adds to the store's file, and the rest the WAL of
 * deletes. It is also the free space that writes which make the store longer leave to deletes.
 */
const PAGES = 1024

const fileOf = (path: string): string => `${path}.reserve`

/**
 * Reserves space in a file beside the store, and only a part of it when the disk is nearly full. It lets SQLite open the
 * store on a full disk, checkpoint its WAL there, and delete plants.
 */
export function keepReserve(path: string): void {
  const file = fileOf(path)
  const wanted = (hasRoomToGrow(path, 2 * PAGES) ? PAGES : OPENING_PAGES) * PAGE
  if (sizeOf(file) >= wanted) return
  try {
    rmSync(file, { force: true })
    // A file system may store zeros without space. On a nearly full disk, a part of the reserve still helps.
    writeFileSync(file, Buffer.alloc(wanted, 'reserve\n'), { mode: 0o600, flush: true })
  } catch {
    if (sizeOf(file) < MIN_PAGES * PAGE) rmSync(file, { force: true })
  }
}

/** 0 for a file that is missing or can't be reached, which FileWatch reports. */
export function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}

/** Frees the reserve, except for the part that opens the store. */
export function giveReserve(path: string): void {
  if (sizeOf(fileOf(path)) > OPENING_PAGES * PAGE) truncateSync(fileOf(path), OPENING_PAGES * PAGE)
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
    if (!hasNoRoomToOpen(error) || !existsSync(fileOf(path))) throw error
    rmSync(fileOf(path), { force: true })
    return open()
  }
}
