import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type FileLock, takeLock } from './file-lock.ts'

/** The part after the final name in the name of a draft. */
export const DRAFT_SUFFIX = '.new-'
const LOCK_SUFFIX = '.lock'
const LOCK_OF_DRAFT = /\.new-\d+-[0-9a-f]{8}\.lock$/
/** The suffixes of a draft and of the files that SQLite may make beside one. */
const SUFFIXES = ['', '-wal', '-shm', '-journal']

/** A new file, which gets its name once it is complete. */
export interface Draft {
  readonly path: string
  /** Removes what is left of the draft, and its lock. The end of the process does the same. */
  remove(): void
}

/**
 * Creates a draft beside `path`, which only its owner may read (mode 0600). A lock beside the draft shows that its
 * process lives: its number would not, as processes in containers share numbers.
 */
export function makeDraft(path: string): Draft {
  removeAbandonedDrafts(dirname(path))
  const draft = `${path}${DRAFT_SUFFIX}${process.pid}-${randomBytes(4).toString('hex')}`
  const lock = takeLock(draft + LOCK_SUFFIX)
  if (lock === undefined) throw new Error(`another process holds the lock of ${draft}`)
  const remove = () => {
    process.off('exit', remove)
    removeDraft(draft, lock)
  }
  // The program exits at the second signal without a return to the caller.
  process.once('exit', remove)
  try {
    closeSync(openSync(draft, 'wx', 0o600))
  } catch (error) {
    remove()
    throw error
  }
  return { path: draft, remove }
}

/** Removes the drafts in a folder whose processes have ended, such as by a power cut. */
export function removeAbandonedDrafts(folder: string): void {
  for (const name of namesIn(folder)) {
    if (!LOCK_OF_DRAFT.test(name)) continue
    const file = join(folder, name)
    try {
      const lock = takeLock(file)
      if (lock !== undefined) removeDraft(file.slice(0, -LOCK_SUFFIX.length), lock)
    } catch {
      // The draft of another user, or one on a read-only disk, is in nobody's way.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // A folder may allow new files only.
    return []
  }
}

/** The lock goes last: without it, a draft would stay for ever. */
function removeDraft(draft: string, lock: FileLock): void {
  for (const suffix of SUFFIXES) rmSync(draft + suffix, { force: true })
  lock.remove()
}

/** Makes the names of new files in a directory durable, by an fsync of the directory. Windows has no such call. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
