import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { AppError } from '../../errors.ts'
import { hasNoRoomToOpen, sqliteFault } from '../errors.ts'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from '../write/writer.ts'

const PAGE = 4096
/** Opening a store takes 32 KiB for the index of its log, and as much for that of the search index. */
const MIN_PAGES = 9
const MAX_PAGES = 32

const fileOf = (path: string): string => `${path}.reserve`

/**
 * Reserves some space beside the store, so that the store can be opened and read when the disk is full: SQLite writes
 * an index of the log to the disk when it opens the store.
 */
export function keepReserve(path: string): void {
  const file = fileOf(path)
  if (existsSync(file)) return
  let pages = 0
  try {
    const fd = openSync(file, 'wx', 0o600)
    try {
      // Zeros might take no space. On a nearly full disk, a part of the reserve still helps.
      for (const page = Buffer.alloc(PAGE, 'reserve\n'); pages < MAX_PAGES && writeSync(fd, page) === PAGE; ) pages++
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    if (pages < MIN_PAGES) rmSync(file, { force: true })
  }
}

/** Opens a store. On a full disk it uses the space that `keepReserve` has reserved. */
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

/** Begins the store's log. Without space for it, the store stays readable and `onNotice` is called. */
export async function beginLog(writer: Remote<SqliteWriter>, onNotice?: (text: string) => void): Promise<void> {
  try {
    await writer.beginLog()
  } catch (error) {
    if (!(error instanceof AppError) || error.number !== 50304) throw error
    onNotice?.('the store has no space left; reads continue, and writes resume once there is space')
  }
}
