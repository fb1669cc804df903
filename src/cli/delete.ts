import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OperatorError, usageError } from '../base/operator-error.ts'
import { counted } from '../base/printable.ts'
import { filterOf, hasFilter } from '../domain/plant-query.ts'
import type { Config } from '../settings/config.ts'
import { type ExportFlags, exportFile } from './export.ts'
import { type ImportFlags, importFile } from './import.ts'
import { ask, canAsk } from './output.ts'

export interface DeleteFlags
  extends Pick<ExportFlags, 'tag' | 'tagPrefix' | 'untagged' | 'q'>,
    Omit<ImportFlags, 'mode' | 'duplicates'> {
  readonly yes?: true
}

/**
 * Deletes the plants of a filter: exports them to a file of its own, asks, and imports the file in mode `delete`. So it
 * deletes no plant that it has not counted, and none that has changed since.
 *
 * @throws OperatorError (exit code 2) without a filter, and without `--yes` where nobody can answer
 */
export async function deletePlants(flags: DeleteFlags, config: Config): Promise<void> {
  const { tag, tagPrefix, untagged, q, yes = false, dryRun = false, store, url } = flags
  const filter = Object.fromEntries(
    Object.entries({ tag, tagPrefix, untagged, q }).filter(([, value]) => value !== undefined),
  )
  const wanted = filterOf(filter)
  // A blank text, as of a variable that is not set, matches all plants.
  if (wanted !== undefined && !hasFilter(wanted)) {
    throw usageError('--tag, --tag-prefix, --untagged, --q', 'say which plants to delete, by at least one of them')
  }
  if (!yes && !dryRun && !canAsk()) {
    throw usageError('--yes', 'needed to delete plants where no terminal can ask')
  }
  // Only this user reads the folder.
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-delete-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'plants.ndjson')
  const target = { ...(store === undefined ? {} : { store }), ...(url === undefined ? {} : { url }) }
  const plants = await exportFile(file, { ...target, ...filter, quiet: true }, config)
  const isMeant = yes || dryRun || plants === 0 || (await ask(`Delete ${counted(plants, 'plant')}? [y/N] `))
  if (!isMeant) throw new OperatorError('nothing was deleted')
  await importFile(file, { ...flags, mode: 'delete' }, config)
}
