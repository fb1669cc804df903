import { closeSync, openSync, readSync, statSync } from 'node:fs'

const SQLITE = Buffer.from('SQLite format 3\0')
/** The magic numbers of a write-ahead log, for both byte orders (https://sqlite.org/fileformat2.html#walformat). */
const LOGS: readonly number[] = [0x377f0682, 0x377f0683]

/** Whether a file is a SQLite database, such as a store or its search index, or a write-ahead log. */
export function isSqliteFile(path: string): boolean {
  const bytes = firstBytes(path, SQLITE.length)
  return bytes.equals(SQLITE) || (bytes.length >= 4 && LOGS.includes(bytes.readUInt32BE()))
}

/** Whether a file has content that does not begin with a JSON object, so that it is no log of JSON lines. */
export function isNoJsonLog(path: string): boolean {
  const [first] = firstBytes(path, 1)
  return first !== undefined && first !== 0x7b
}

/** Returns the first bytes of a file; none when the path has no file that this process can read. */
function firstBytes(path: string, count: number): Buffer {
  try {
    // Opening a pipe would wait for its writer.
    if (!statSync(path).isFile()) return Buffer.alloc(0)
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(count)
      return bytes.subarray(0, readSync(file, bytes, 0, count, 0))
    } finally {
      closeSync(file)
    }
  } catch {
    return Buffer.alloc(0)
  }
}
