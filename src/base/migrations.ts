import { createHash } from 'node:crypto'
import { assetsIn, readAsset } from './assets.ts'
import { OperatorError } from './operator-error.ts'

export interface Migration {
  /** Counts from 1 without gaps. */
  readonly number: number
  readonly sql: string
  /** SHA-256 of the file, hexadecimal. It reveals that the file changed after a store applied it. */
  readonly checksum: string
}

export interface AppliedMigration {
  readonly number: number
  readonly checksum: string
}

/** The numbered SQL files of one engine (`sql/<engine>/000001.sql`, …), in order. */
export function readMigrations(directory: URL): Migration[] {
  const names = assetsIn(directory).filter((name) => /^\d{6}\.sql$/.test(name))
  return names.sort().map((name, i) => {
    if (Number.parseInt(name, 10) !== i + 1) throw new Error(`${directory.pathname}: ${name} leaves a gap`)
    const sql = readAsset(new URL(name, directory)).toString()
    return { number: i + 1, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  })
}

/** No release has another first file. */
const DEVELOPMENT =
  'a development version made it; export its plants with that version, and import them into a new store'

const differs = (number: number): string =>
  `its schema ${number} was created by a migration that differs from this program's`

/**
 * Returns the migrations of `known` that a store still lacks.
 *
 * @throws OperatorError when a newer program, or other files than these, made the store
 */
export function pendingMigrations(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  for (const { number, checksum } of applied) {
    const same = known[number - 1]
    if (same === undefined) {
      throw new OperatorError(`it has schema ${number}, newer than this program's ${known.length}; update the program`)
    }
    if (same.checksum !== checksum) throw new OperatorError(number === 1 ? DEVELOPMENT : differs(number))
  }
  return known.slice(applied.length)
}
