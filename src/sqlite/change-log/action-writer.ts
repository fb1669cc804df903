import { mustOwnAction } from '../../domain/actions.ts'
import type { Part } from '../../domain/part.ts'
import type { ActionName } from '../../domain/token.ts'
import type { StatementCache } from '../rows.ts'

/** Who changes plants. The log keeps all but the part. */
export interface Author {
  /** Actor.id */
  readonly actor: string
  readonly part?: Part | undefined
  readonly action?: ActionName | undefined
}

/** What one transaction adds to an action. */
interface Added {
  readonly number: bigint
  changes: Record<'create' | 'update' | 'delete', number>
  ended: number
  last: number
}

/** Writes the actions of changes (sql/sqlite/000003.sql), inside the transaction that changes the plants. */
export class ActionWriter {
  readonly #statements: StatementCache
  readonly #added = new Map<string, Added>()

  constructor(statements: StatementCache) {
    this.#statements = statements
  }

  begin(): void {
    this.#added.clear()
  }

  /** @throws AppError 40907 when another token has used the id of the action, or it undoes another one */
  mustOwn({ actor, action }: Author): void {
    if (action === undefined || this.#added.has(action.id)) return
    const stored = this.#stored(action.id)
    if (stored !== undefined) mustOwnAction(action, actor, { token: stored[1], undoes: stored[2] ?? undefined })
  }

  /** Adds a row of the log of changes. */
  add({ actor, action }: Author, position: number, at: number, kind: keyof Added['changes'], changes: number): void {
    if (action === undefined) return
    let added = this.#added.get(action.id)
    if (added === undefined) {
      const number = this.#stored(action.id)?.[0] ?? this.#insert(actor, action, position, at)
      added = { number: number as bigint, changes: { create: 0, update: 0, delete: 0 }, ended: at, last: position }
      this.#added.set(action.id, added)
    }
    added.changes[kind] += changes
    added.ended = at
    added.last = position
    this.#statements.run('INSERT INTO action_rows (position, action) VALUES (?, ?)', position, added.number)
  }

  end(): void {
    for (const { number, changes, ended, last } of this.#added.values()) {
      this.#statements.run(ADD, changes.create, changes.update, changes.delete, ended, last, number)
    }
  }

  /** Says down to which row of the log an action has undone another one. */
  undone(id: string, position: number): void {
    this.#statements.run('UPDATE actions SET undone_to = min(coalesce(undone_to, ?1), ?1) WHERE id = ?2', position, id)
  }

  #stored(id: string) {
    return this.#statements.get('SELECT number, token, undoes FROM actions WHERE id = ?', id)
  }

  #insert(actor: string, { id, title, undoes }: ActionName, position: number, at: number): bigint {
    const values = [id, actor, title ?? null, at, at, position, position, undoes ?? null]
    return this.#statements.get(INSERT, ...values)?.[0] as bigint
  }
}

const INSERT = `INSERT INTO actions (id, token, title, began, ended, created, updated, deleted, first_position,
    last_position, undoes)
  VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?) RETURNING number`
const ADD = `UPDATE actions SET created = created + ?, updated = updated + ?, deleted = deleted + ?, ended = ?,
    last_position = ? WHERE number = ?`

/** Removes what belongs to rows of the log up to a position. */
export function trimActions(statements: StatementCache, position: bigint): void {
  statements.run('DELETE FROM action_rows WHERE position <= ?', position)
  statements.run('DELETE FROM actions WHERE last_position <= ?', position)
}
