import { accessSync, constants, createReadStream, createWriteStream, existsSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { OperatorError } from '../../base/operator-error.ts'
import { storePath } from '../../base/store-path.ts'
import type { LongWork, RestoreOptions, RestoreReport } from '../../domain/upkeep.ts'
import { isFull, sqliteFault } from '../errors.ts'
import { schemaOf } from '../migrate.ts'
import { checkHeader } from '../open/preflight.ts'
import { openingError } from '../open/prepare-file.ts'
import { takeServeLock, undoServeLock } from '../open/serve-lock.ts'
import { judgeLog } from '../wal/log-match.ts'
import { mustHaveRoom } from './backup-target.ts'
import { type Counts, countsIn, firstFault, giveOwnIdentity, giveOwnMark, inCopy } from './copy-file.ts'
import { nameUnlessThere, throughDraft } from './draft-file.ts'
import { mendReplacement, mustBeEmpty, mustBeUnused, replaceStore } from './replace-store.ts'

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
      undoServeLock(lock)
      throw error
    }
  } catch (error) {
    throw faultOf(path, error)
  }
}

/** @returns the resolved path. @throws OperatorError when the file is not a complete store in one file */
function backupFile(file: string, path: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) throw new OperatorError(`${file}: there is no such file`)
  if (!stat.isFile()) throw new OperatorError(`${file}: it is not a file`)
  const store = statSync(path, { throwIfNoEntry: false })
  if (store?.ino === stat.ino && store.dev === stat.dev) throw new OperatorError(`${file}: it is the store itself`)
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
  if (judgeLog(real) === 'truncated') throw new OperatorError(`${file}: it is truncated to ${stat.size} bytes`)
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
    const fault = firstFault(copy)
    if (fault !== undefined) throw new OperatorError(`it is damaged: ${fault}`)
    giveOwnMark(copy)
    giveOwnIdentity(copy)
    return countsIn(copy)
  })
}

function faultOf(path: string, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
    return new OperatorError(`store ${path}: it exists; --replace replaces it, and keeps it under another name`, {
      cause: error,
    })
  }
  const fault = sqliteFault(error)
  if (fault !== undefined && isFull(fault)) {
    return new OperatorError(`store ${path}: no space is left on the device`, { cause: error })
  }
  return openingError(path, error)
}
