import { readSync, statSync } from 'node:fs'
import { withOpen } from '../../base/files.ts'
import { epochOn, follows } from './epoch.ts'
import { HEADER, readWal, type Wal } from './wal-file.ts'

/** Offset in the header on the first page (https://sqlite.org/fileformat2.html section 1.3). */
const SCHEMA_COOKIE = 40
/** Attempts while the store and its WAL change. */
const ATTEMPTS = 5

export type WalVerdict = 'own' | 'foreign' | 'truncated' | 'missing' | 'damaged'

/**
 * Decides whether a store's file and its WAL are all that was acknowledged. It reads the file, so this process must not
 * have the store open. Other processes may have it open, and write.
 *
 * A WAL continues one state of the file, its base. A checkpoint copies pages of the WAL into the file. So the first
 * page of the file comes from the base or from the WAL, and the oldest first page in the WAL has the epoch after that of
 * the base.
 *
 * @returns `foreign` for a WAL of another file; `truncated` when the file is shorter than its first page says; `missing`
 *   when the file lacks what its WAL had; `damaged` when the WAL has commits behind a damaged frame
 */
export function judgeWal(path: string): WalVerdict {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const page = firstPageOf(path)
    const wal = readWal(`${path}-wal`, page)
    // During a checkpoint, the WAL may have the pages that the file lacks. No process shortens the file.
    if (wal?.committed?.hasPage !== true && statSync(path).size < sizeIn(page)) return 'truncated'
    const verdict = verdictOn(page, wal)
    if (verdict === 'own') return verdict
    // Another process may have checkpointed the WAL, or have written to it, between the two reads.
    if (firstPageOf(path).equals(page) && isSame(readWal(`${path}-wal`, page), wal)) return verdict
  }
  return 'own'
}

function verdictOn(page: Buffer, wal: Wal | undefined): WalVerdict {
  if (wal?.damage !== undefined) return 'damaged'
  if (epochOn(page).hasMark && wal?.salts === undefined) return wal && wal.size >= HEADER ? 'damaged' : 'missing'
  return wal?.committed === undefined || belongs(page, wal.committed) ? 'own' : 'foreign'
}

const isSame = (one: Wal | undefined, other: Wal | undefined): boolean =>
  one?.salts === other?.salts && one?.damage === other?.damage && (one === undefined) === (other === undefined)

export const pageSizeIn = (header: Buffer): number => (header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16))

/** Bytes of the whole file. */
const sizeIn = (header: Buffer): number => header.readUInt32BE(28) * pageSizeIn(header)

function belongs(page: Buffer, { oldest, isAlone, hasPage }: NonNullable<Wal['committed']>): boolean {
  if (oldest === undefined || hasPage) return true
  const [epoch, first] = [epochOn(page), epochOn(oldest)]
  if (first.number !== epoch.number) return follows(first, epoch)
  // SQLite's own backup sets another schema cookie.
  const changes = oldest.readUInt32BE(SCHEMA_COOKIE) - page.readUInt32BE(SCHEMA_COOKIE)
  return isAlone ? changes === 0 || changes === 1 : changes >= 0
}

export const firstPageOf = (path: string): Buffer =>
  withOpen(path, 'r', (file) => {
    const header = Buffer.alloc(100)
    readSync(file, header, 0, header.length, 0)
    const page = Buffer.alloc(pageSizeIn(header))
    readSync(file, page, 0, page.length, 0)
    return page
  })
