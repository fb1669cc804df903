import { createHash } from 'node:crypto'
import { assetsIn, readAsset } from './assets.ts'
import { OperatorError } from './operator-error.ts'

export interface Migration {
  /** Counts from 1 without gaps. */
  readonly number: number
  readonly sql: string
  /**
   * SHA-256 of the statements, hexadecimal. It reveals that they changed after a store applied them; comments and blanks
   * may change.
   */
  readonly checksum: string
}

export interface AppliedMigration {
  readonly number: number
  readonly checksum: string
}

/** The numbered SQL files of one engine (`sql/<engine>/`), in order. */
export function readMigrations(directory: URL): Migration[] {
  const names = assetsIn(directory).filter((name) => /^\d{6}\.sql$/.test(name))
  return names.sort().map((name, i) => {
    if (Number.parseInt(name, 10) !== i + 1) throw new Error(`${directory.pathname}: ${name} leaves a gap`)
    const sql = readAsset(new URL(name, directory)).toString()
    return { number: i + 1, sql, checksum: checksumOf(sql) }
  })
}

const checksumOf = (sql: string): string => createHash('sha256').update(plainSql(sql)).digest('hex')

/**
 * Tokens of SQL. A `;` ends no statement inside a comment, a quoted text, a quoted identifier or a dollar-quoted text
 * (https://www.postgresql.org/docs/current/sql-syntax-lexical.html).
 */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-/'"$;]+|[\s\S]/g

/** Splits an SQL file into statements, and leaves out comments. */
export function statementsOf(sql: string): string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    else if (!/^(?:--|\/\*)/.test(token)) statements.push(`${statements.pop() ?? ''}${token}`)
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}

/** A statement with one blank for each run of blanks outside of quotation marks, and none beside brackets and commas. */
const withoutBlanks = (statement: string): string =>
  Array.from(statement.matchAll(TOKEN), ([token]) =>
    /^['"$]/.test(token) ? token : token.replaceAll(/\s+/g, ' ').replaceAll(/ ?([(),]) ?/g, '$1'),
  ).join('')

/** The form in which two texts of SQL are equal that differ only in comments and blanks. */
export const plainSql = (sql: string): string => statementsOf(sql).map(withoutBlanks).join(';\n')

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
