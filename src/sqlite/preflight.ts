import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../operator-error.ts'
import { APPLICATION_ID } from './connection.ts'

/**
 * Looks at the path before anything opens, makes or changes a file there.
 *
 * It reads the file itself, which is safe only now: closing any descriptor of a database that this process has open
 * drops SQLite's locks on it (https://sqlite.org/howtocorrupt.html section 2.2).
 *
 * @returns whether the store is there already
 * @throws OperatorError when the path can't hold a store, or holds something else or a damaged one
 */
export function preflight(path: string): 'absent' | 'present' {
  const directory = dirname(path)
  if (!existsSync(directory)) throw refusal(path, `the folder ${directory} does not exist; make it first`)
  mustBeWritable(path, directory)
  if (!existsSync(path)) return 'absent'
  const stat = statSync(path)
  if (!stat.isFile()) throw refusal(path, 'it is not a file')
  mustBeWritable(path, path)
  if (stat.size === 0)
    throw refusal(path, 'the file is empty, so it lost its content or never was a store; move it away')
  checkHeader(path, stat.size)
  return 'present'
}

function mustBeWritable(path: string, what: string): void {
  try {
    accessSync(what, constants.R_OK | constants.W_OK)
  } catch (cause) {
    throw new OperatorError(`store ${path}: ${what} can't be written`, { cause })
  }
}

/** The first 100 bytes (https://sqlite.org/fileformat2.html section 1.3). */
function checkHeader(path: string, size: number): void {
  const header = Buffer.alloc(100)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, 100, 0)
  } finally {
    closeSync(file)
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') throw refusal(path, 'it is not a SQLite database')
  if (header.readUInt32BE(68) !== APPLICATION_ID) throw refusal(path, 'it is a SQLite database, but not a plant store')
  const pageSize = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16)
  const pages = header.readUInt32BE(28)
  // With a log beside it, a crash may have left the file shorter for now; SQLite completes it when it opens it.
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  if (size < pages * pageSize && !hasLog) {
    throw refusal(path, `the file is cut short: ${size} bytes of ${pages * pageSize}; restore it from a backup`)
  }
}

const refusal = (path: string, why: string): OperatorError => new OperatorError(`store ${path}: ${why}`)
