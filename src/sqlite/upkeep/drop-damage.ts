import { copyFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { makeDraft } from '../../base/files.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { counted } from '../../base/printable.ts'
import type { CheckedPart } from '../../domain/upkeep.ts'
import { changesAfter, headOf } from '../change-log/change-reader.ts'
import { openExclusive, openReader } from '../connection.ts'
import { takeServeLock } from '../open/prepare-file.ts'
import { StatementCache } from '../rows.ts'
import { newEpoch } from '../wal/epoch.ts'
import { withNewSums } from '../wal/wal-file.ts'
import { firstPageOf, judgeWal, pageSizeIn } from '../wal/wal-ownership.ts'
import { faultsIn, mustHaveRoom } from './copies.ts'

/**
 * Lets a store go on without the part of its WAL that is damaged or missing, and names the changes that go with it. Keeps
 * a damaged WAL under another name. Call it before this process opens the store.
 *
 * @throws OperatorError when the file itself is damaged, or another process has it open; nothing changes
 */
export function dropDamage(path: string): CheckedPart {
  const lock = takeServeLock(path)
  try {
    const verdict = judgeWal(path)
    if (verdict !== 'damaged' && verdict !== 'missing')
      return { part: 'log', found: 'no change is damaged or missing', faults: [] }
    const part = verdict === 'damaged' ? dropDamaged(path) : goOnWithout(path)
    const db = openExclusive(path)
    if (db === undefined) throw new OperatorError(`store ${path}: another process has it open; stop that process first`)
    newEpoch(db)
    db.close()
    return part
  } finally {
    lock.undo()
  }
}

function dropDamaged(path: string): CheckedPart {
  const kept = `${path}-wal.damaged-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  using draft = makeDraft(path)
  mustHaveRoom(draft.path, statSync(path).size + 2 * statSync(`${path}-wal`).size)
  copyFileSync(path, draft.path)
  const wal = readFileSync(`${path}-wal`)
  writeFileSync(`${draft.path}-wal`, withNewSums(wal, pageSizeIn(firstPageOf(path))), { mode: 0o600 })
  const head = headOfWhole(path)
  const dropped = changesIn(draft.path, head)
  writeFileSync(`${kept}.new`, wal, { mode: 0o600, flush: true })
  renameSync(`${kept}.new`, kept)
  const found = `went on without its damaged part, which is kept as ${kept}; tokens, webhooks and reserved ids are as they were before it`
  return { part: 'log', found, faults: [], dropped }
}

function goOnWithout(path: string): CheckedPart {
  const found = `went on without it, so that nothing tells what it had after the change ${headOfWhole(path)}`
  return { part: 'log', found, faults: [], dropped: [] }
}

/** The position of the newest change of the store, as SQLite reads it. */
function headOfWhole(path: string): number {
  using db = openReader(path)
  const [fault] = faultsIn(db, 1)
  if (fault === undefined) return headOf(new StatementCache(db))
  throw new OperatorError(`store ${path}: the file is damaged, too: ${fault}; restore it from a backup`)
}

/** Names the changes after a position, as far as they can be read. */
function changesIn(path: string, position: number): string[] {
  const found: string[] = []
  let db: DatabaseSync | undefined
  try {
    db = openReader(path)
    for (const { ids, before, plants } of changesAfter(new StatementCache(db), position)) {
      const what = before === undefined ? 'created' : plants[0] === undefined ? 'deleted' : 'changed'
      found.push(`${what} ${ids.length === 1 ? 'plant' : counted(ids.length, 'plant')} ${ids.join(', ')}`)
    }
    return found
  } catch {
    return [...found, 'further changes that the damage makes unreadable']
  } finally {
    db?.close()
  }
}
