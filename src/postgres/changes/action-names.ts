import { mustOwnAction } from '../../domain/actions.ts'
import { AppError } from '../../domain/errors.ts'
import type { Part } from '../../domain/part.ts'
import type { ActionName } from '../../domain/token.ts'
import type { Run } from '../pool/client.ts'
import { textArray } from '../rows.ts'

/** Who changes plants. The log keeps all but the part. */
export interface Author {
  /** Actor.id */
  readonly token: string
  readonly part?: Part | undefined
  readonly action?: ActionName | undefined
}

type Named = Author & { readonly action: ActionName }

/**
 * Looks for the actions of writes before these are made.
 *
 * @returns the refusals of actions that another token uses, by id and token, and the actions that have no name so far
 */
export async function namesOf(
  run: Run,
  authors: readonly Author[],
): Promise<{ readonly refusals: ReadonlyMap<string, AppError>; readonly unnamed: readonly Named[] }> {
  const named = new Map<string, Named>()
  for (const { token, action } of authors) {
    const key = `${action?.id} ${token} ${action?.undoes ?? ''}`
    if (action !== undefined && !named.has(key)) named.set(key, { token, action })
  }
  const stored = await storedNames(run, [...named.values()])
  const refusals = new Map<string, AppError>()
  const unnamed = new Map<string, Named>()
  for (const author of named.values()) {
    const { token, action } = author
    const other = unnamed.get(action.id)
    const user = stored.get(action.id) ?? (other && { token: other.token, undoes: other.action.undoes })
    try {
      if (user === undefined) unnamed.set(action.id, author)
      else mustOwnAction(action, token, user)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      refusals.set(`${action.id} ${token}`, error)
    }
  }
  return { refusals, unnamed: [...unnamed.values()] }
}

/**
 * Stores the names of the actions that have changed something, as the last step of the transaction of their changes. So
 * no transaction that another one waits for because of a name waits for the plants of that one.
 *
 * @throws AppError 40907 when another token has used an id meanwhile
 */
export async function nameActions(run: Run, unnamed: readonly Named[]): Promise<void> {
  if (unnamed.length === 0) return
  const values = [
    textArray(unnamed.map(({ action }) => action.id)),
    textArray(unnamed.map(({ token }) => token)),
    textArray(unnamed.map(({ action }) => action.title)),
    textArray(unnamed.map(({ action }) => action.undoes)),
  ]
  await run({ name: 'name-actions', text: NAME, values })
  const stored = await storedNames(run, unnamed)
  for (const { token, action } of unnamed) {
    const user = stored.get(action.id)
    if (user !== undefined) mustOwnAction(action, token, user)
  }
}

type Names = ReadonlyMap<string, Parameters<typeof mustOwnAction>[2]>

async function storedNames(run: Run, named: readonly Named[]): Promise<Names> {
  if (named.length === 0) return new Map()
  const values = [textArray(named.map(({ action }) => action.id))]
  const { rows } = await run({ name: 'named-actions', text: NAMED, values })
  return new Map(rows.map(([id = null, token, undoes]) => [id ?? '', { token, undoes: undoes ?? undefined }]))
}

const NAME = `INSERT INTO actions (id, token, title, undoes, began)
  SELECT id, token, title, undoes, (SELECT round(extract(epoch FROM min(at)) * 1000) FROM action_rows WHERE action = id)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS new (id, token, title, undoes)
  WHERE EXISTS (SELECT FROM action_rows WHERE action = id) ORDER BY id ON CONFLICT (id) DO NOTHING`
const NAMED = 'SELECT id, token, undoes FROM actions WHERE id = ANY ($1::text[])'

/**
 * Writes rows but those whose action is another token's.
 *
 * @param transaction makes what it is given in one transaction
 * @param write takes undefined in place of the transaction where each action has its name
 * @returns the results in the order of the rows
 */
export async function unlessTaken<Row extends Author, Result>(
  run: Run,
  transaction: (work: (run: Run) => Promise<Result[]>) => Promise<Result[]>,
  rows: readonly Row[],
  write: (run: Run | undefined, rows: readonly Row[]) => Promise<Result[]>,
): Promise<(Result | AppError)[]> {
  for (;;) {
    const { refusals, unnamed } = await namesOf(run, rows)
    const refusalOf = ({ token, action }: Row) => refusals.get(`${action?.id} ${token}`)
    const free = rows.filter((row) => refusalOf(row) === undefined)
    const named = async (own: Run) => {
      const results = await write(own, free)
      await nameActions(own, unnamed)
      return results
    }
    try {
      const results = await (unnamed.length === 0 ? write(undefined, free) : transaction(named))
      let at = 0
      return rows.map((row) => refusalOf(row) ?? (results[at++] as Result))
    } catch (error) {
      // The next look refuses what another token has used meanwhile.
      if (!(error instanceof AppError) || error.number !== 40907) throw error
    }
  }
}
