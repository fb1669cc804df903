import type { NewPlant } from '../../domain/plant.ts'
import { ALL_PLANTS } from '../../domain/plant-query.ts'
import type { ImportMode, ImportResult } from '../../domain/store.ts'
import type { Client, Statement } from '../pool/client.ts'
import { exported } from '../read/long-reads.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, COLUMNS, columnsOf, refusalOf, rowOf } from '../rows.ts'
import { decideImport } from './decide-import.ts'

/**
 * An import that changes no plant of the store. It writes new and replaced plants to a temporary table of its
 * connection, where later plants with the same id find them.
 */
export class PostgresDryRun {
  readonly #client: Client
  readonly #mode: ImportMode
  #hasTable = false

  constructor(client: Client, mode: ImportMode) {
    this.#client = client
    this.#mode = mode
  }

  async importPlants(plants: readonly NewPlant[]): Promise<ImportResult[]> {
    const run = (statement: Statement) => this.#client.run(statement)
    if (!this.#hasTable) {
      await run({ text: 'CREATE TEMPORARY TABLE tried (id bigint PRIMARY KEY, name text NOT NULL, tag text)' })
      this.#hasTable = true
    }
    const wanted = plants.filter((plant) => refusalOf(plant) === undefined)
    const present = byId([...(await selectPlants(run, wanted)), ...(await selectPlants(run, wanted, 'tried'))])
    const { results, changed } = decideImport(plants, this.#mode, present)
    if (changed.length > 0) await run({ name: 'try', text: TRY, values: columnsOf(changed.map(rowOf)) })
    return results
  }

  /** Ends its transaction at the end, because later rows are tried on the same connection. */
  async *storedPlants(signal?: AbortSignal): AsyncGenerator<readonly NewPlant[], void, void> {
    try {
      yield* exported(this.#client, ALL_PLANTS, 'id', signal)
    } finally {
      await this.#client.run({ text: 'COMMIT' })
    }
  }
}

const TRY = `INSERT INTO tried SELECT id, name, tag FROM unnest(${COLUMNS}) AS v (id, name, tag, sort_key, words)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag`
