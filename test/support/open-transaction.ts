import { Client as PgClient } from 'pg'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { Run } from '../../src/postgres/pool/client.ts'
import { PlantTable } from '../../src/postgres/write/write-plants.ts'
import { TESTER } from './actor.ts'
import { cleanUp, type Scene } from './clean-up.ts'

/** A transaction that writes plants by the statements of the store, and stays open for as long as a test wants. */
export class OpenTransaction {
  readonly #client: PgClient

  private constructor(client: PgClient) {
    this.#client = client
  }

  static async begin(t: Scene, url: string): Promise<OpenTransaction> {
    const client = new PgClient({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    cleanUp(t, () => client.end())
    await client.query('BEGIN')
    return new OpenTransaction(client)
  }

  readonly #run: Run = async ({ text, values = [] }) => {
    const types = { getTypeParser: () => (value: string) => value }
    const { rows, rowCount, command } = await this.#client.query<(string | null)[], unknown[]>({
      text,
      values: [...values],
      rowMode: 'array',
      types,
    })
    return { rows, count: rowCount ?? 0, command }
  }

  async sql(text: string): Promise<void> {
    await this.#client.query(text)
  }

  /** @param action the id of its action */
  create(plant: NewPlant, action?: string): Promise<void> {
    return this.#swap('insert', undefined, plant, action)
  }

  update(before: NewPlant, after: NewPlant): Promise<void> {
    return this.#swap('update', before, after)
  }

  async #swap(
    write: 'insert' | 'update',
    before: NewPlant | undefined,
    after: NewPlant,
    action?: string,
  ): Promise<void> {
    const swap = { id: after.id, before, after, changes: [{ before, after, token: TESTER.id, action }] }
    await new PlantTable().write(this.#run, write, [swap])
  }
}
