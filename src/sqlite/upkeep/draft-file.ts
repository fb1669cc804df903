import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDraft, syncDirectory } from '../../base/new-file.ts'

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
  const draft = makeDraft(path)
  try {
    const made = await make(draft.path)
    syncFile(draft.path)
    name(draft.path)
    draft.remove()
    syncDirectory(dirname(path))
    return made
  } finally {
    draft.remove()
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
