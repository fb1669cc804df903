import type { NewPlant } from '../../domain/plant.ts'
import type { StatementCache } from '../rows.ts'

/** Plants of a row of creates. A reader of the log reads all of them at once, for a page of ten too. */
const MAX_CREATES = 250
/** Bytes of a row apart from its ids and texts, with its place in the index. */
const ROW_BYTES = 80

/** The kind of a row, by what was asked for. */
type ChangeKind = 'create' | 'replace' | 'update' | 'delete'

/** The bytes of a row. They are counted, as measuring them would read the whole log. */
export const bytesOf = (ids: number, ...texts: (string | null)[]): number =>
  texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), ROW_BYTES + 8 * ids)

const NEWEST = 'SELECT position, bytes FROM changes ORDER BY position DESC LIMIT 1'
const INSERT = `INSERT INTO changes (position, bytes, at, kind, ids, name, tag, plants, token, created)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Appends to the log of changes (sql/sqlite/000001.sql), inside the transaction that changes the plants. */
export class ChangeWriter {
  readonly #statements: StatementCache
  /** Created plants without a row yet, by the ids of their actors. */
  readonly #created = new Map<string, NewPlant[]>()
  #count = 0
  #position = 0
  #bytes = 0
  /** The newest position before this transaction, for `plants.created`. */
  base = 0
  /** The error of a row that SQLite refused. */
  #fault: unknown

  constructor(statements: StatementCache) {
    this.#statements = statements
  }

  /** Begins a transaction, and discards what a rolled-back one has left. */
  begin(): void {
    this.#discard()
    this.#fault = undefined
    const newest = this.#statements.get(NEWEST)
    this.base = this.#position = Number(newest?.[0] ?? 0)
    this.#bytes = Number(newest?.[1] ?? 0)
  }

  /**
   * Adds a create to the next row of its actor. This may reorder creates of several actors in one commit, which is
   * harmless: each creates another plant.
   */
  created(plant: NewPlant, actor: string): void {
    const plants = this.#created.get(actor)
    if (plants === undefined) this.#created.set(actor, [plant])
    else plants.push(plant)
    if (++this.#count === MAX_CREATES) this.#flush()
  }

  changed(kind: 'replace' | 'update', before: NewPlant, after: NewPlant, actor: string): void {
    this.#flush()
    this.#add([before.id], Date.now(), kind, before, textsOf([after]), actor, null)
  }

  /** Adds the row of a delete. @param created `plants.created` of the plant */
  deleted(before: NewPlant, actor: string, created: bigint | null): void {
    this.#flush()
    this.#add([before.id], Date.now(), 'delete', before, null, actor, created)
  }

  /** Ends a transaction before its commit. @throws the error of any row, so that no change is stored without its row */
  end(): void {
    this.#flush()
    if (this.#fault !== undefined) throw this.#fault
  }

  /** Writes the rows of the last creates, one for each actor. */
  #flush(): void {
    if (this.#count === 0) return
    const at = Date.now()
    for (const [actor, plants] of this.#created) {
      const ids = plants.map(({ id }) => id)
      this.#add(ids, at, 'create', undefined, textsOf(plants), actor, null)
    }
    this.#discard()
  }

  #add(
    ids: readonly bigint[],
    at: number,
    kind: ChangeKind,
    before: NewPlant | undefined,
    plants: string | null,
    actor: string,
    created: bigint | null,
  ): void {
    const [name, tag] = [before?.name ?? null, before?.tag ?? null]
    const packed = new Uint8Array(new BigInt64Array(ids).buffer)
    this.#position += ids.length
    this.#bytes += bytesOf(ids.length, name, tag, plants)
    try {
      this.#statements.run(INSERT, this.#position, this.#bytes, at, kind, packed, name, tag, plants, actor, created)
    } catch (error) {
      this.#fault ??= error
      throw error
    }
  }

  #discard(): void {
    this.#created.clear()
    this.#count = 0
  }
}

function textsOf(plants: readonly NewPlant[]): string {
  const texts: (string | null)[] = []
  for (const { name, tag } of plants) texts.push(name, tag ?? null)
  return JSON.stringify(texts)
}
