import { accessSync, constants, createReadStream, createWriteStream, existsSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, type DatabaseSync } from 'node:sqlite'
import { pipeline } from 'node:stream/promises'
import { isThere, nameUnlessThere, storePath } from '../../base/files.ts'
import { OperatorError } from '../../base/operator-error.ts'
import type { BackupReport, Counts, LongWork, RestoreOptions, RestoreReport } from '../../domain/upkeep.ts'
import { openReader } from '../connection.ts'
import { isFull } from '../errors.ts'
import { checkHeader, preflight } from '../open/preflight.ts'
import { isSameFile, openingError, schemaOf, takeServeLock } from '../open/prepare-file.ts'
import { judgeWal } from '../wal/wal-ownership.ts'
import {
  backupTarget,
  countsIn,
  existing,
  faultsIn,
  foreignParts,
  inCopy,
  mendReplacement,
  mustBeEmpty,
  mustBeUnused,
  mustHaveRoom,
  refusedPlants,
  replaceStore,
  taken,
  throughDraft,
} from './copies.ts'

/** 4 MiB. A part takes some milliseconds, and a signal waits for at most one part. */
const PAGES_OF_A_PART = 1024
/** Plants of a refused backup that the message names. */
const MAX_NAMED = 20

/** Writes a backup of the store in the file `link` (Upkeep.backup in src/domain/upkeep.ts). It never migrates the store. */
export async function makeBackup(link: string, file: string, work: LongWork = {}): Promise<BackupReport> {
  const path = storePath(link)
  try {
    mendReplacement(path)
    preflight(path)
    const target = backupTarget(file, path)
    const counts = await throughDraft(
      target,
      (draft) => copyStore(path, draft, target, work),
      (draft) => nameUnlessThere(draft, target),
    )
    return { file, bytes: statSync(target).size, ...counts }
  } catch (error) {
    throw faultOf(error, path, file, taken(file))
  }
}

async function copyStore(
  path: string,
  draft: string,
  target: string,
  { onProgress, signal }: LongWork,
): Promise<Counts> {
  using source = openReader(path)
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
}

/** @throws OperatorError when the copy differs from the store */
function verify(draft: string, expected: Counts): void {
  inCopy(draft, (copy) => {
    const { plants, tokens } = countsIn(copy)
    const [fault] = faultsIn(copy, 1)
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

/** Makes the store in the file `link` from a backup (Upkeep.restore in src/domain/upkeep.ts). */
export async function restoreBackup(link: string, file: string, options: RestoreOptions): Promise<RestoreReport> {
  const path = storePath(link)
  const { replace } = options
  try {
    const folder = dirname(path)
    if (!existsSync(folder))
      throw new OperatorError(`store ${path}: the folder ${folder} does not exist; create it first`)
    mendReplacement(path)
    const source = backupFile(file, path)
    if (!replace) mustBeEmpty(path)
    // The lock keeps services away from the store during the restore.
    const lock = takeServeLock(path)
    try {
      if (replace) mustBeUnused(path)
      let kept: string | undefined
      const counts = await throughDraft(
        path,
        (draft) => copyBackup(source, draft, options),
        (draft) => {
          if (replace) kept = replaceStore(draft, path)
          else nameUnlessThere(draft, path)
        },
      )
      lock.release()
      return { store: path, ...counts, kept }
    } catch (error) {
      lock.undo()
      throw error
    }
  } catch (error) {
    throw faultOf(error, path, `store ${path}`, existing(path))
  }
}

/** @returns the resolved path. @throws OperatorError when the file is not a complete store in one file */
function backupFile(file: string, path: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) throw new OperatorError(`${file}: there is no such file`)
  if (!stat.isFile()) throw new OperatorError(`${file}: it is not a file`)
  if (isSameFile(stat, statSync(path, { throwIfNoEntry: false })))
    throw new OperatorError(`${file}: it is the store itself`)
  try {
    accessSync(file, constants.R_OK)
  } catch (cause) {
    throw new OperatorError(`${file}: it can't be read`, { cause })
  }
  if (stat.size === 0) throw new OperatorError(`${file}: it is empty`)
  const real = realpathSync(file)
  checkHeader(real, stat.size)
  for (const suffix of ['-wal', '-journal']) {
    if ((statSync(real + suffix, { throwIfNoEntry: false })?.size ?? 0) === 0) continue
    throw new OperatorError(
      `${file}: it is a store and not a backup: ${real}${suffix} holds its newest commits; make a backup with "plantstore backup"`,
    )
  }
  const verdict = judgeWal(real)
  if (verdict === 'truncated') throw new OperatorError(`${file}: it is truncated to ${stat.size} bytes`)
  if (verdict === 'missing') {
    const why = 'it was copied from a store in use without its log, so it lacks changes and may be torn'
    throw new OperatorError(`${file}: ${why}; make a backup with "plantstore backup"`)
  }
  return real
}

async function copyBackup(source: string, draft: string, { onProgress, signal }: LongWork): Promise<Counts> {
  const { size } = statSync(source)
  mustHaveRoom(draft, size)
  let copied = 0
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      copied += chunk.length
      onProgress?.({ doing: 'copying', done: copied / size })
      yield chunk
    }
  }
  const writing = createWriteStream(draft, { flags: 'r+' })
  const options = signal === undefined ? {} : { signal }
  await pipeline(createReadStream(source, { highWaterMark: 2 ** 20 }), counted, writing, options)
  onProgress?.({ doing: 'verifying', done: undefined })
  return inCopy(draft, (copy) => {
    schemaOf(copy)
    const foreign = foreignParts(copy, MAX_NAMED)
    if (foreign.length > 0)
      throw new OperatorError(
        `${source}: it is no backup by this program:\n${foreign.join('\n')}\nif its plants are yours, export them from it, and import them into a new store`,
      )
    const [fault] = faultsIn(copy, 1)
    if (fault !== undefined) throw new OperatorError(`it is damaged: ${fault}`)
    const refused = refusedPlants(copy, MAX_NAMED)
    if (refused.length > 0)
      throw new OperatorError(`${source}: it has plants that no store takes:\n${refused.join('\n')}`)
    // It may share a folder for backups with the store of the backup.
    copy.exec('UPDATE store_identity SET identity = randomblob(16)')
    return countsIn(copy)
  })
}

/** @param made the file that was to be made, and the error to throw when it exists */
function faultOf(error: unknown, path: string, made: string, ifThere: OperatorError): unknown {
  if (isThere(error)) return ifThere
  if (isFull(error)) return new OperatorError(`${made}: no space is left on the device`, { cause: error })
  return openingError(path, error)
}
