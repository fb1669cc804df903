import { statSync } from 'node:fs'
import { backup, type DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../base/operator-error.ts'
import { storePath } from '../../base/store-path.ts'
import type { BackupReport, LongWork } from '../../domain/upkeep.ts'
import { openReader } from '../connection.ts'
import { isFull, sqliteFault } from '../errors.ts'
import { preflight } from '../open/preflight.ts'
import { openingError } from '../open/prepare-file.ts'
import { backupTarget, mustHaveRoom } from './backup-target.ts'
import { type Counts, countsIn, firstFault, giveOwnMark, inCopy } from './copy-file.ts'
import { nameUnlessThere, throughDraft } from './draft-file.ts'
import { mendReplacement } from './replace-store.ts'

/** 4 MiB. A part takes some milliseconds, and a signal waits for at most one part. */
const PAGES_OF_A_PART = 1024

/** Writes a backup of the store in the file `link` (Upkeep.backup in src/domain/upkeep.ts). It never migrates the store. */
export async function makeBackup(link: string, file: string, work: LongWork = {}): Promise<BackupReport> {
  const path = storePath(link)
  try {
    mendReplacement(path)
    if (preflight(path) === 'absent') throw new OperatorError(`store ${path}: it does not exist`)
    const target = backupTarget(file, path)
    const counts = await throughDraft(
      target,
      (draft) => copyStore(path, draft, target, work),
      (draft) => nameUnlessThere(draft, target),
    )
    return { file, bytes: statSync(target).size, ...counts }
  } catch (error) {
    throw faultOf(path, file, error)
  }
}

async function copyStore(
  path: string,
  draft: string,
  target: string,
  { onProgress, signal }: LongWork,
): Promise<Counts> {
  const source = openReader(path)
  try {
    // One transaction for the whole copy: without it, SQLite begins again after each commit of another process, and
    // never ends on a busy store. Meanwhile SQLite can't restart the store's WAL, which grows with each write.
    source.exec('BEGIN')
    const counts = countsIn(source)
    mustHaveRoom(target, sizeOf(source))
    onProgress?.({ doing: 'copying', done: 0 })
    await backup(source, draft, {
      rate: PAGES_OF_A_PART,
      progress: ({ totalPages, remainingPages }) => {
        signal?.throwIfAborted()
        onProgress?.({ doing: 'copying', done: 1 - remainingPages / Math.max(1, totalPages) })
      },
    })
    onProgress?.({ doing: 'verifying', done: undefined })
    verify(draft, counts)
    signal?.throwIfAborted()
    return counts
  } finally {
    source.close()
  }
}

/** @throws OperatorError when the copy differs from the store */
function verify(draft: string, expected: Counts): void {
  inCopy(draft, (copy) => {
    giveOwnMark(copy)
    const { plants, tokens } = countsIn(copy)
    const fault = firstFault(copy)
    if (fault !== undefined) throw damaged(fault)
    if (plants !== expected.plants || tokens !== expected.tokens) {
      throw damaged(`it has ${plants} plants and ${tokens} tokens instead of ${expected.plants} and ${expected.tokens}`)
    }
  })
}

const damaged = (fault: string): OperatorError =>
  new OperatorError(`the copy is damaged, so no backup was written: ${fault}; check the store with "plantstore check"`)

const sizeOf = (db: DatabaseSync): number =>
  Number(db.prepare('PRAGMA page_count').get()?.['page_count']) *
  Number(db.prepare('PRAGMA page_size').get()?.['page_size'])

function faultOf(path: string, file: string, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
    return new OperatorError(`${file}: it already exists; a backup replaces no file`, { cause: error, exitCode: 2 })
  }
  const fault = sqliteFault(error)
  if (fault !== undefined && isFull(fault)) {
    return new OperatorError(`${file}: no space is left on the device`, { cause: error })
  }
  return openingError(path, error)
}
