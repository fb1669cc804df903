import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { AppError } from '../../errors.ts'
import { hasNoRoomToOpen, sqliteFault } from '../errors.ts'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from '../write/writer.ts'

const PAGE = 4096
/** Pages of 4 KiB. The WAL-indexes of the store and of its search index take 32 KiB each when they are opened. */
const MIN_PAGES = 9
const MAX_PAGES = 32

const fileOf = (path: string): string => `${path}.reserve`

/**
 * Reserves space in a file beside the store. It lets SQLite open the store on a full disk, which takes space for a
 * WAL-index.
 */
export function keepReserve(path: string): void {
  const file = fileOf(path)
  if (existsSync(file)) return
  let pages = 0
  try {
    const fd = openSync(file, 'wx', 0o600)
    try {
      // A file system may store zeros without space. On a nearly full disk, a part of the reserve still helps.
      for (const page = Buffer.alloc(PAGE, 'reserve\n'); pages < MAX_PAGES && writeSync(fd, page) === PAGE; ) pages++
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    if (pages < MIN_PAGES) rmSync(file, { force: true })
  }
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

/** Begins the store's WAL. Without space for the WAL, it calls `onNotice`, and the store stays readable. */
export async function beginLog(writer: Remote<SqliteWriter>, onNotice?: (text: string) => void): Promise<void> {
  try {
    await writer.beginLog()
  } catch (error) {
    if (!(error instanceof AppError) || error.number !== 50304) throw error
    onNotice?.('the store has no space left; reads continue, and writes resume once there is space')
  }
}
