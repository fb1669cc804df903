import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { type LogFile, readLog } from './log-file.ts'
import { follows } from './log-mark.ts'

/** Offsets in the header on the first page (https://sqlite.org/fileformat2.html section 1.3). */
const SCHEMA_COOKIE = 40
const USER_VERSION = 60
/** Attempts while the store and its log change. */
const ATTEMPTS = 5

/**
 * Decides whether a log belongs to the store's file. It reads the file, so this process must not have the store open.
 * Other processes may have it open, and write.
 *
 * A log continues one state of the file, its base. A checkpoint copies pages of the log into the file. So the first
 * page of the file comes from the base or from the log, and the oldest first page in the log has the mark after that of
 * the base.
 *
 * @returns `truncated` when the file is shorter than its first page says
 */
export function judgeLog(path: string): 'own' | 'foreign' | 'truncated' {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const page = firstPageOf(path)
    const log = readLog(`${path}-wal`, page)
    const isInUse = log !== undefined && log.transactions > 0
    // During a checkpoint, the log may have the pages that the file lacks. No process shortens the file.
    const isCheckpointing = isInUse && log.hasFirstPage
    if (!isCheckpointing && statSync(path).size < sizeIn(page)) return 'truncated'
    if (!isInUse || belongs(page, log)) return 'own'
    // Another process may have checkpointed the log between the two reads.
    const isStill = firstPageOf(path).equals(page) && readLog(`${path}-wal`, page)?.salts === log.salts
    if (isStill) return 'foreign'
  }
  return 'own'
}

const pageSizeIn = (header: Buffer): number => (header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16))

/** Bytes of the whole file. */
const sizeIn = (header: Buffer): number => header.readUInt32BE(28) * pageSizeIn(header)

function belongs(page: Buffer, { firstPage, hasFirstPage }: LogFile): boolean {
  if (firstPage === undefined || hasFirstPage) return true
  const { bytes, isAlone } = firstPage
  const mark = page.readUInt32BE(USER_VERSION)
  const oldest = bytes.readUInt32BE(USER_VERSION)
  if (follows(oldest, mark)) return true
  if (oldest !== mark) return false
  // The oldest first page in the log has the mark of the file. SQLite's own backup sets another schema cookie.
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
