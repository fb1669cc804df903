import type { NewPlant } from '../../domain/plant.ts'
import type { StatementCache } from '../rows.ts'
import { ActionWriter, type Author } from './action-writer.ts'

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
  readonly #actions: ActionWriter
  /** Created plants without a row yet, by their actors and actions. */
  readonly #created = new Map<string, { readonly author: Author; readonly plants: NewPlant[] }>()
  #count = 0
  #position = 0
  #bytes = 0
  /** The newest position before this transaction, for `plants.created`. */
  base = 0
  /** The error of a row that SQLite refused. */
  #fault: unknown

  constructor(statements: StatementCache) {
    this.#statements = statements
    this.#actions = new ActionWriter(statements)
  }

  /** Begins a transaction, and discards what a rolled-back one has left. */
  begin(): void {
    this.#discard()
    this.#actions.begin()
    this.#fault = undefined
    const newest = this.#statements.get(NEWEST)
    this.base = this.#position = Number(newest?.[0] ?? 0)
    this.#bytes = Number(newest?.[1] ?? 0)
  }

  /** @throws AppError 40907 when another token has used the id of the author's action */
  mustOwn(author: Author): void {
    if (author.action !== undefined) this.#actions.mustOwn(author)
  }

  /**
   * Adds a create to the next row of its author. This may reorder creates of several actors in one commit, which is
   * harmless: each creates another plant.
   */
  created(plant: NewPlant, author: Author): void {
    const { actor, action } = author
    const key = action === undefined ? actor : `${actor} ${action.id}`
    const row = this.#created.get(key)
    if (row === undefined) this.#created.set(key, { author, plants: [plant] })
    else row.plants.push(plant)
    if (++this.#count === MAX_CREATES) this.#flush()
  }

  changed(kind: 'replace' | 'update', before: NewPlant, after: NewPlant, author: Author): void {
    this.#flush()
    this.#add([before.id], Date.now(), kind, before, textsOf([after]), author, null)
  }

  /** Adds the row of a delete. @param created `plants.created` of the plant */
  deleted(before: NewPlant, author: Author, created: bigint | null): void {
    this.#flush()
    this.#add([before.id], Date.now(), 'delete', before, null, author, created)
  }

  /** Says down to which row of the log an action has undone another one. Writes the rows so far. */
  undone(id: string, position: number): void {
    this.#flush()
    this.#actions.undone(id, position)
  }

  /** Ends a transaction before its commit. @throws the error of any row, so that no change is stored without its row */
  end(): void {
    this.#flush()
    if (this.#fault !== undefined) throw this.#fault
    this.#actions.end()
  }

  /** Writes the rows of the last creates, one for each author. */
  #flush(): void {
    if (this.#count === 0) return
    const at = Date.now()
    for (const { author, plants } of this.#created.values()) {
      const ids = plants.map(({ id }) => id)
      this.#add(ids, at, 'create', undefined, textsOf(plants), author, null)
    }
    this.#discard()
  }

  #add(
    ids: readonly bigint[],
    at: number,
    kind: ChangeKind,
    before: NewPlant | undefined,
    plants: string | null,
    author: Author,
    created: bigint | null,
  ): void {
    const [name, tag] = [before?.name ?? null, before?.tag ?? null]
    const packed = new Uint8Array(new BigInt64Array(ids).buffer)
    this.#position += ids.length
    this.#bytes += bytesOf(ids.length, name, tag, plants)
    try {
      const { actor } = author
      this.#statements.run(INSERT, this.#position, this.#bytes, at, kind, packed, name, tag, plants, actor, created)
      this.#actions.add(author, this.#position, at, kind === 'replace' ? 'update' : kind, ids.length)
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
