import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from './operator-error.ts'

/** The part after the final name in the name of a draft. */
export const DRAFT_SUFFIX = '.new-'
const LOCK_SUFFIX = '.lock'
const LOCK_OF_DRAFT = /\.new-\d+-[0-9a-f]{8}\.lock$/
/** The suffixes of a draft and of the files that SQLite may make beside one. */
const DRAFT_FILES = ['', '-wal', '-shm', '-journal']

/** A new file, which gets its name once it is complete. Its disposal removes what is left of it, and its lock. */
interface Draft extends Disposable {
  readonly path: string
}

/**
 * Creates a draft beside `path`, which only its owner may read (mode 0600). A lock beside the draft shows that its
 * process lives: its number would not, as processes in containers share numbers.
 */
export function makeDraft(path: string): Draft {
  removeAbandonedDrafts(dirname(path))
  const { draft, lock } = lockedName(path)
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
  return { path: draft, [Symbol.dispose]: remove }
}

/** Names of one draft that are tried. A disk that gives no lock at all would else have files without end. */
const MAX_NAMES = 10

/**
 * Takes another name where a process that looks for abandoned drafts had the lock first: it removes what it has locked.
 *
 * @throws OperatorError when none of the names can be locked
 */
function lockedName(path: string): { readonly draft: string; readonly lock: FileLock } {
  for (let tries = 0; tries < MAX_NAMES; tries++) {
    const draft = `${path}${DRAFT_SUFFIX}${process.pid}-${randomBytes(4).toString('hex')}`
    const lock = takeLock(draft + LOCK_SUFFIX)
    if (lock !== undefined) return { draft, lock }
  }
  throw new OperatorError(`${path}: no file beside it can be locked; choose a folder on a disk with file locks`)
}

/** Links a draft to its name. @throws Error with the code EEXIST when the name exists already */
export function nameUnlessThere(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Some file systems have no hard links, such as FAT.
    if (code === 'EEXIST' || existsSync(path)) throw Object.assign(new Error('it exists'), { code: 'EEXIST' })
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP') throw error
    renameSync(draft, path)
  }
}

/** Whether a name exists already, by the error of the attempt to make it. */
export const isThere = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST'

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
  for (const suffix of DRAFT_FILES) rmSync(draft + suffix, { force: true })
  lock.remove()
}

/** Makes the names of new files in a directory durable, by an fsync of the directory. Windows has no such call. */
export function syncDirectory(directory: string): void {
  if (process.platform !== 'win32') withOpen(directory, 'r', fsyncSync)
}

export function withOpen<T>(path: string, flags: string, work: (file: number) => T): T {
  const file = openSync(path, flags, 0o600)
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}

/** SQLite's result code when another connection holds the lock (https://sqlite.org/rescode.html#busy). */
const BUSY = 5
/** Milliseconds. `isLocked` of another process holds the lock for less than one. */
const TIMEOUT = 50

export interface FileLock {
  /** Releases the lock. Calling it again does nothing. */
  release(): void
  /** Removes the file, and releases the lock. Calling it again does nothing. */
  remove(): void
  /** Releases the lock, and removes the file if `takeLock` has created it. */
  undo(): void
}

/**
 * Takes a lock between processes: SQLite's lock on an empty file, which is created if there is none. The operating
 * system releases the lock however the process ends.
 *
 * @returns undefined when another process, or this one, holds the lock
 */
export function takeLock(path: string): FileLock | undefined {
  const file = resolve(path)
  for (;;) {
    const isNew = !existsSync(file)
    // Only the owner may open the file: a process that opens it could hold the lock, and keep every other one out.
    if (isNew) closeSync(openSync(file, 'a', 0o600))
    const before = statSync(file, { throwIfNoEntry: false })
    const db = lockFile(file)
    if (db === undefined) return undefined
    const release = () => {
      if (db.isOpen) db.close()
    }
    const remove = () => {
      if (!db.isOpen) return
      // Only the holder of the lock removes the file, so that two processes never hold two files of this name. Windows
      // removes no open file.
      if (process.platform === 'win32') release()
      rmSync(file, { force: true })
      release()
    }
    if (before !== undefined && statSync(file, { throwIfNoEntry: false })?.ino === before.ino) {
      return { release, remove, undo: isNew ? remove : release }
    }
    // The previous holder has removed the file, so no other process would find this lock. Retry.
    release()
  }
}

function lockFile(file: string): DatabaseSync | undefined {
  const db = new DatabaseSync(file, { timeout: TIMEOUT })
  try {
    // A full disk has no space for a journal on the disk.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

export function isLocked(path: string): boolean {
  const file = resolve(path)
  if (!existsSync(file)) return false
  using db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  }
}

const isBusy = (error: unknown): boolean => error instanceof Error && 'errcode' in error && error.errcode === BUSY

/** The number of links that Linux follows. */
const MAX_LINKS = 40

/**
 * The path that symbolic links lead to, which need not exist. All files of a store lie beside it, whichever link opens
 * the store.
 *
 * @throws OperatorError when the links form a loop
 */
export function storePath(path: string): string {
  let target = path
  for (let links = 0; lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() === true; links++) {
    if (links === MAX_LINKS) throw new OperatorError(`store ${path}: its symbolic links form a loop`)
    target = resolve(realpathSync(dirname(target)), readlinkSync(target))
  }
  return target
}

const STORE_FILES = [
  '-wal',
  '-shm',
  '-journal',
  '.lock',
  '.reserve',
  '.first-token',
  '-index',
  '-index-wal',
  '-index-shm',
]

/**
 * Whether a path leads to a store or to a file beside it. Neither need exist. False for a path that cannot be followed,
 * so that the attempt to open it tells the reason.
 */
export function isFileOfStore(path: string, store: string): boolean {
  const [file, own] = [wholePath(path), wholePath(store)]
  return file === own || STORE_FILES.some((suffix) => file === own + suffix) || file.startsWith(own + DRAFT_SUFFIX)
}

function wholePath(path: string): string {
  try {
    const target = storePath(path)
    return join(realpathSync(dirname(target)), basename(target))
  } catch {
    return resolve(path)
  }
}

/**
 * Refuses the file of a private key that others can read, by the rule of PostgreSQL's own clients
 * (https://www.postgresql.org/docs/current/libpq-ssl.html): at most 0600, or 0640 where root owns it.
 *
 * @throws OperatorError
 */
export function mustBePrivate(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  // Windows has no such modes. The read of a missing file fails later.
  if (stat === undefined || process.platform === 'win32') return
  if (!stat.isFile()) throw new OperatorError(`the key ${path} is not a file`)
  if ((stat.mode & (stat.uid === 0 ? 0o037 : 0o077)) === 0) return
  throw new OperatorError(
    `the key ${path} is accessible to other users; its mode must be 0600, or 0640 if root owns it`,
  )
}
