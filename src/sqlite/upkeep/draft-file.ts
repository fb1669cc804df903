import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { draftPath, syncDirectory } from '../../new-file.ts'

/**
 * Writes a database file as a draft beside `path`. Only its owner may read the file (mode 0600). Removes the draft when
 * `make` throws, and when the process exits meanwhile.
 *
 * @param make writes the draft
 * @param name renames the draft, which is then complete and on stable storage
 */
export async function throughDraft<T>(
  path: string,
  make: (draft: string) => Promise<T>,
  name: (draft: string) => void,
): Promise<T> {
  const draft = draftPath(path)
  const remove = () => {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(draft + suffix, { force: true })
  }
  // The program exits at the second signal without a return to this function.
  process.once('exit', remove)
  try {
    closeSync(openSync(draft, 'wx', 0o600))
    const made = await make(draft)
    syncFile(draft)
    name(draft)
    remove()
    syncDirectory(dirname(path))
    return made
  } finally {
    remove()
    process.off('exit', remove)
  }
}

/** @throws Error with the code EEXIST when the name exists already */
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

function syncFile(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
