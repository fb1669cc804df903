import type { DatabaseSync } from 'node:sqlite'
import type { Part } from '../../domain/part.ts'
import { decidePut, type ImportedPlant, type ImportMode, type PutOutcome } from '../../domain/plant.ts'
import { openReader } from '../connection.ts'
import { fullDisk, isWriteFault } from '../errors.ts'
import { type PlantColumns, plantOf, plantsOf, StatementCache } from '../rows.ts'
import { type Task, Turn } from '../worker/cooperative.ts'

/**
 * An import that changes no plant of the store. It writes new and replaced plants to a temporary table of its
 * connection, where later plants with the same id find them; a deleted plant has no name there. SQLite keeps the table
 * in a file, which bounds its memory.
 */
export class SqliteDryRun {
  readonly #db: DatabaseSync
  readonly #statements: StatementCache
  readonly #mode: ImportMode
  readonly #part: Part | undefined

  constructor(path: string, mode: ImportMode, part: Part | undefined) {
    this.#mode = mode
    this.#part = part
    this.#db = openReader(path)
    this.#db.exec(`PRAGMA temp_store = FILE;
      CREATE TEMP TABLE tried (id INTEGER NOT NULL PRIMARY KEY, name TEXT, tag TEXT) STRICT, WITHOUT ROWID`)
    this.#statements = new StatementCache(this.#db)
  }

  *importPlants(plants: PlantColumns): Task<PutOutcome[]> {
    const outcomes: PutOutcome[] = []
    const turn = new Turn()
    // A transaction for each call, and none between calls: an open one keeps SQLite from checkpointing the whole WAL.
    this.#db.exec('BEGIN')
    try {
      for (const plant of plantsOf(plants)) {
        outcomes.push(this.#import(plant))
        if (turn.isOver()) yield
      }
    } catch (error) {
      // The connection writes to its temporary file alone, so the store is well.
      throw isWriteFault(error) ? fullDisk(error) : error
    } finally {
      if (this.#db.isTransaction) this.#db.exec('COMMIT')
    }
    return outcomes
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #import(plant: ImportedPlant): PutOutcome {
    const { id, name, tag } = plant
    const row =
      this.#statements.get('SELECT id, name, tag FROM temp.tried WHERE id = ?', id) ??
      this.#statements.get('SELECT id, name, tag FROM main.plants WHERE id = ?', id)
    const present = row === undefined || row[1] === null ? undefined : plantOf(row)
    const outcome = decidePut(this.#mode, plant, present, this.#part)
    if (outcome !== 'created' && outcome !== 'updated' && outcome !== 'deleted') return outcome
    const values = outcome === 'deleted' ? [null, null] : [name, tag ?? null]
    this.#statements.run('INSERT OR REPLACE INTO temp.tried (id, name, tag) VALUES (?, ?, ?)', id, ...values)
    return outcome
  }
}
