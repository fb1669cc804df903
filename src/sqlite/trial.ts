import type { DatabaseSync } from 'node:sqlite'
import type { ImportMode } from '../store.ts'
import { openReader } from './connection.ts'
import { OUTCOME, type RowOutcome } from './outcome.ts'
import { PLANT_ROW_LENGTH, type PlantRows } from './rows.ts'
import { Statements } from './statements.ts'
import type { Steps } from './steps.ts'

/** Plants that are tried in one step. */
const STEP = 200

/** A tried import: what it would have stored lies in a temporary file, so that it takes the same memory however long it is. */
export class ImportTrial {
  readonly #db: DatabaseSync
  readonly #statements: Statements
  readonly #mode: ImportMode

  constructor(path: string, mode: ImportMode) {
    this.#mode = mode
    this.#db = openReader(path)
    this.#db.exec(`PRAGMA temp_store = FILE;
      CREATE TEMP TABLE tried (id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT, WITHOUT ROWID`)
    this.#statements = new Statements(this.#db)
  }

  *try(rows: PlantRows): Steps<RowOutcome[]> {
    const outcomes: RowOutcome[] = []
    // One transaction for each call and none between them, as a reader that stays keeps the log from being folded in.
    this.#db.exec('BEGIN')
    for (let i = 0; i < rows.length; i += PLANT_ROW_LENGTH) {
      outcomes.push(this.#try(rows[i] as bigint, rows[i + 1] as string, rows[i + 2] as string | null))
      if (outcomes.length % STEP === 0) yield
    }
    this.#db.exec('COMMIT')
    return outcomes
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #try(id: bigint, name: string, tag: string | null): RowOutcome {
    const there =
      this.#statements.get('SELECT name, tag FROM temp.tried WHERE id = ?', id) ??
      this.#statements.get('SELECT name, tag FROM main.plants WHERE id = ?', id)
    if (there !== undefined && there[0] === name && there[1] === tag) return OUTCOME.unchanged
    if (there !== undefined && this.#mode === 'add') return OUTCOME.conflict
    this.#statements.run(
      'INSERT INTO temp.tried (id, name, tag) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET name = excluded.name, tag = excluded.tag',
      id,
      name,
      tag,
    )
    return there === undefined ? OUTCOME.created : OUTCOME.updated
  }
}
