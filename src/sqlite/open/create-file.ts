import { linkSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDraft, syncDirectory } from '../../base/new-file.ts'
import { APPLICATION_ID, openWriter, transaction } from '../connection.ts'
import { migrate } from '../migrate.ts'
import { advanceMark } from '../wal/log-mark.ts'

/**
 * Creates an empty store, completely or not at all. Several processes may call it at once: each makes a draft, and one
 * of them links its draft to the final name. Only the owner may read the file (mode 0600).
 */
export function createStoreFile(path: string): void {
  const draft = makeDraft(path)
  try {
    const db = openWriter(draft.path)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    migrate(db)
    transaction(db, () => advanceMark(db))
    db.close()
    linkUnlessThere(draft.path, path)
  } finally {
    draft.remove()
  }
  syncDirectory(dirname(path))
}

function linkUnlessThere(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
