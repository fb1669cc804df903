import { accessSync, constants, existsSync, readdirSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DRAFT_SUFFIX, withOpen } from '../../base/files.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { APPLICATION_ID, openExclusive } from '../connection.ts'
import { judgeWal } from '../wal/wal-ownership.ts'

const MAGIC = 'SQLite format 3\0'
const HEADER = 100

/**
 * Checks the path of a store and the files beside it. Call it before this process opens, creates or changes one.
 *
 * It reads the file itself, which is safe only before SQLite opens the file: closing any descriptor of an open database
 * drops SQLite's locks (https://sqlite.org/howtocorrupt.html section 2.2).
 *
 * @param mayBeAbsent whether the store need not exist
 * @returns whether the store exists
 * @throws OperatorError when the path can't hold a store, or holds another file, a damaged store, or a store beside the
 *   WAL of another one
 */
export function preflight(path: string, mayBeAbsent = false): boolean {
  const directory = dirname(path)
  if (!existsSync(directory)) throw refusal(path, `the folder ${directory} does not exist; create it first`)
  mustBeWritable(path, directory)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) {
    mustBeAlone(path)
    if (!mayBeAbsent) throw refusal(path, 'it does not exist')
    return false
  }
  if (!stat.isFile()) throw refusal(path, 'it is not a file')
  mustBeWritable(path, path)
  mustHaveOneName(path)
  if (stat.size === 0)
    throw refusal(path, 'the file is empty, so it lost its content or never was a store; move it away')
  checkHeader(path, stat.size)
  checkWal(path)
  return true
}

function mustBeWritable(path: string, what: string): void {
  try {
    accessSync(what, constants.R_OK | constants.W_OK)
  } catch (cause) {
    throw new OperatorError(`store ${path}: ${what} can't be written`, { cause })
  }
}

/**
 * Refuses to create a store beside the WAL of a missing one, as the new store would destroy that WAL.
 *
 * @param mend what the operator may do; by default, without the tools of this program
 */
export function mustBeAlone(path: string, mend?: string): void {
  const left = ['-wal', '-journal', '-shm'].map((suffix) => path + suffix).filter((name) => existsSync(name))
  // Another process may have created the store and its WAL between the two checks.
  if (left.length === 0 || existsSync(path)) return
  const them = left.length === 1 ? 'it' : 'them'
  const why = `the file is missing, but ${left.join(' and ')} may hold its newest plants`
  throw refusal(path, `${why}; ${mend ?? `put the file back, or move ${them} away`}`)
}

/** Refuses hard links: under another name, the store would have another WAL and another lock, and lose writes. */
function mustHaveOneName(path: string): void {
  // During a creation, and after a crash in it, the store has the name of its draft too. A draft may disappear between
  // the two counts, but no new one appears.
  const isOwn = (name: string) => name === basename(path) || name.startsWith(basename(path) + DRAFT_SUFFIX)
  const isSame = (name: string) => statSync(join(dirname(path), name), { throwIfNoEntry: false })?.ino === ino
  const { ino } = statSync(path)
  const known = readdirSync(dirname(path)).filter((name) => isOwn(name) && isSame(name))
  const { nlink } = statSync(path)
  if (nlink <= known.length) return
  throw refusal(path, `the file has ${nlink} names (hard links); keep only one, or replace them with a copy`)
}

/** Refuses a file without the header of a store (https://sqlite.org/fileformat2.html section 1.3). */
export function checkHeader(path: string, size: number): void {
  const header = Buffer.alloc(HEADER)
  withOpen(path, 'r', (file) => readSync(file, header, 0, HEADER, 0))
  if (!header.toString('latin1', 0, MAGIC.length).startsWith(MAGIC.slice(0, size))) {
    throw refusal(path, 'it is not a SQLite database')
  }
  if (size < HEADER) throw truncated(path)
  if (header.readUInt32BE(68) !== APPLICATION_ID) throw refusal(path, 'it is a SQLite database, but not a plant store')
}

function checkWal(path: string): void {
  const journal = statSync(`${path}-journal`, { throwIfNoEntry: false })
  if (journal !== undefined && journal.size > 0) {
    throw refusal(path, `${path}-journal is not from this program and would roll the store back; move it away`)
  }
  const verdict = judgeWal(path)
  if (verdict === 'truncated') throw truncated(path)
  if (verdict === 'damaged')
    throw refusal(path, `its log ${path}-wal is damaged, so its newest changes are not whole; ${GO_ON}`)
  if (verdict === 'missing') {
    // The log may lie beside the other name.
    const db = openExclusive(path)
    if (db === undefined) throw underAnotherName(path)
    db.close()
    const why = `its log ${path}-wal is missing, with changes that were acknowledged, as in a copy of the file alone`
    throw refusal(path, `${why}; put the log back, ${GO_ON}`)
  }
  if (verdict === 'foreign') {
    throw refusal(
      path,
      `the log ${path}-wal belongs to another file; put that file back, or move the log away if you restored a backup`,
    )
  }
}

export const underAnotherName = (path: string): OperatorError =>
  refusal(path, 'another process has the file open under another name; stop that process first')

const GO_ON =
  'restore a backup, or let it go on without them by "plantstore check --drop-damaged", which names what it drops'

const truncated = (path: string): OperatorError =>
  refusal(path, `the file is truncated to ${statSync(path).size} bytes; restore it from a backup`)

const refusal = (path: string, why: string): OperatorError => new OperatorError(`store ${path}: ${why}`)

/**
 * Returns a warning for a store whose file alone is mounted, such as `-v plants.db:/data/plants.db` of a container: its
 * log would lie in another place, and be lost with it.
 */
export function noticeOfMount(path: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  // The fifth field is the mount point, with blanks and backslashes in octal (man 5 proc).
  const name = realpathSync(path).replaceAll(
    /[ \t\n\\]/g,
    (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`,
  )
  const isMount = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[4] === name)
  if (!isMount) return undefined
  return `the file ${path} is mounted by itself, so its log ${path}-wal, which has its newest changes, lies elsewhere; mount its folder instead`
}
