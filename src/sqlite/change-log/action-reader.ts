import {
  type Action,
  type ActionQuery,
  actionGone,
  decideUndo,
  type Fate,
  type Follower,
  type Followers,
  type LeftPlant,
  leftPlant,
  MOST_FOLLOWERS,
  noAction,
  type UndoStep,
} from '../../domain/actions.ts'
import type { Part } from '../../domain/part.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { plantAt, type SqliteRow, type StatementCache } from '../rows.ts'
import { createRow, plantBefore, plantsAfter, unpack } from './change-reader.ts'

// Reads of actions (sql/sqlite/000003.sql), each inside a transaction of the store.

const COLUMNS = `id, title, token, began, ended, created, updated, deleted, undoes,
  (SELECT id FROM actions AS undo WHERE undo.undoes = actions.id ORDER BY number DESC LIMIT 1)`

export function listActions(
  statements: StatementCache,
  { token, since, after }: ActionQuery,
  limit: number,
): readonly Action[] {
  const ofToken = token === undefined ? '' : 'token = ? AND'
  const sql = `SELECT ${COLUMNS} FROM actions WHERE ${ofToken} began >= ? AND (began, id) < (?, ?)
    ORDER BY began DESC, id DESC LIMIT ?`
  const { began, id } = after ?? { began: Number.MAX_SAFE_INTEGER, id: '' }
  const values = [...(token === undefined ? [] : [token]), since ?? 0, began, id, limit]
  return statements.all(sql, ...values).map(actionOf)
}

export function getAction(statements: StatementCache, id: string): Action | undefined {
  const row = statements.get(`SELECT ${COLUMNS} FROM actions WHERE id = ?`, id)
  return row && actionOf(row)
}

/** A column: the id of the action of a row of `changes`; NULL for a row without one. */
export const ACTION = `(SELECT actions.id FROM action_rows JOIN actions ON actions.number = action_rows.action
  WHERE action_rows.position = changes.position)`

function actionOf(row: SqliteRow): Action {
  const text = (column: number) => (row[column] as string | null) ?? undefined
  const number = (column: number) => Number(row[column])
  return {
    id: row[0] as string,
    title: text(1),
    token: row[2] as string,
    began: number(3),
    ended: number(4),
    created: number(5),
    updated: number(6),
    deleted: number(7),
    undoes: text(8),
    undoneBy: text(9),
  }
}

/** Changes after which a step ends: some 10 ms of work. A row of creates is taken whole. */
const STEP_CHANGES = 250

/** A change of an action, with the plant before and after it. */
export interface UndoneChange {
  readonly id: bigint
  readonly before: NewPlant | undefined
}

interface UndoRequest {
  readonly action: string
  /** The id of the action that undoes; undefined for a dry run. */
  readonly undo: string | undefined
  /** The position below which the step begins; undefined for the first. */
  readonly from: string | undefined
  readonly part: Part | undefined
}

/**
 * Goes back through some changes of an action (ActionLog.undo).
 *
 * @param restore called once for each plant to restore, in the end
 */
export function undoStep(
  statements: StatementCache,
  { action, undo, from, part }: UndoRequest,
  restore: (change: UndoneChange) => void = () => {},
): UndoStep & { readonly position: number } {
  const number = mustHaveAll(statements, action)
  const reached = statements.get(REACHED, undo ?? null, action)?.[0]
  const isPassed = (at: number) => reached != null && at >= Number(reached)
  /** What this step does with plants, whose changes may have no row yet. */
  const fates = new Map<bigint, Fate>()
  const targets = new Map<bigint, NewPlant | undefined>()
  const left: LeftPlant[] = []
  let restored = 0
  let seen = 0
  let position = from === undefined ? Number.MAX_SAFE_INTEGER : Number(from)
  let isLast = false
  while (seen < STEP_CHANGES) {
    const row = statements.get(ROW, number, position)
    if (row === undefined) {
      isLast = true
      break
    }
    position = Number(row[0])
    const ids = unpack(row[1])
    const before = plantBefore(ids, row[2], row[3])
    seen += ids.length
    for (const [i, plant] of plantsAfter(ids, row[4]).entries()) {
      const id = ids[i] ?? 0n
      const swapped = { before, after: plant }
      const later = fates.get(id)
      const after = followers(statements, id, position, plant, later, undo)
      const present = () => plantAt(statements, id)
      const undoing = { action, undo, part, later, isPassed: isPassed(position), present }
      const decision = decideUndo(after, swapped, undoing)
      if (decision === 'leave') {
        const isBack = undo !== undefined && targets.has(id)
        left.push(leftPlant(id, isBack ? targets.get(id) : present(), part))
        fates.set(id, 'left')
      }
      if (decision === 'restore' || decision === 'restored') restored++
      if (decision !== 'restore' && decision !== 'restore further') continue
      targets.set(id, before)
      fates.set(id, 'back')
    }
  }
  for (const [id, before] of targets) restore({ id, before })
  return { restored, left, next: isLast ? undefined : String(position), position }
}

/** Down to where an undo has gone, unless the action has gone on since it began. */
const REACHED = `SELECT undone_to FROM actions WHERE id = ?1
  AND first_position > (SELECT last_position FROM actions WHERE id = ?2)`
const ROW = `SELECT position, ids, name, tag, plants FROM action_rows JOIN changes USING (position)
  WHERE action = ? AND position < ? ORDER BY position DESC LIMIT 1`

/** @returns the number of the action */
function mustHaveAll(statements: StatementCache, id: string): bigint {
  const sql = `SELECT number, first_position >= (SELECT position FROM changes ORDER BY position LIMIT 1)
    FROM actions WHERE id = ?`
  const row = statements.get(sql, id)
  if (row === undefined) throw noAction(id)
  if (row[1] !== 1n) throw actionGone(id)
  return row[0] as bigint
}

/**
 * Returns the changes of a plant that follow the one at a position.
 *
 * @param plant the plant after that change
 * @param later what the step does with a later change of the plant
 */
function followers(
  statements: StatementCache,
  id: bigint,
  position: number,
  plant: NewPlant | undefined,
  later: Fate | undefined,
  undo: string | undefined,
): Followers {
  const blob = new Uint8Array(new BigInt64Array([id]).buffer)
  const followerAt = (at: number): Follower => {
    const [action = null, undoes = null] = (statements.get(ACTION_AT, at) ?? []) as (string | null)[]
    return { action, undoes: undoes ?? undefined }
  }
  const actionAt = (at: number | undefined) => (at === undefined ? undefined : followerAt(at).action)
  const created = () => statements.get('SELECT created FROM plants WHERE id = ?', id)?.[0]
  const createOf = (after: unknown) =>
    typeof after === 'bigint' ? createRow(statements, id, Number(after))?.position : undefined
  const nextOf = (at: number, isDelete: boolean) => {
    if (!isDelete) return numberIn(statements.get(NEXT, blob, at)?.[0])
    // Only a create follows a delete. The next delete, or the stored plant, says where it is.
    return createOf(statements.get(NEXT_DELETE, blob, at)?.[0] ?? created())
  }
  const newest = () => {
    const last = statements.get(LAST, blob)
    const isStored = created() !== undefined
    return isStored && (last === undefined || last[1] === 'delete') ? createOf(created()) : numberIn(last?.[0])
  }
  const first = nextOf(position, plant === undefined)
  const all = () => {
    const found: Follower[] = []
    for (let at = first; at !== undefined && found.length < MOST_FOLLOWERS; ) {
      found.push(followerAt(at))
      at = nextOf(at, statements.get(KIND, at)?.[0] === 'delete')
    }
    return found
  }
  return { next: actionAt(first), newest: () => (later === 'back' ? undo : actionAt(newest())), all }
}

const OF_PLANT = "FROM changes INDEXED BY changes_of_plant WHERE kind <> 'create' AND ids = ?"
const ACTION_AT = `SELECT id, undoes FROM action_rows JOIN actions ON actions.number = action_rows.action
  WHERE action_rows.position = ?`
const KIND = 'SELECT kind FROM changes WHERE position = ?'
const NEXT = `SELECT position ${OF_PLANT} AND position > ? ORDER BY position LIMIT 1`
const NEXT_DELETE = `SELECT created ${OF_PLANT} AND kind = 'delete' AND position > ? ORDER BY position LIMIT 1`
const LAST = `SELECT position, kind ${OF_PLANT} ORDER BY position DESC LIMIT 1`

const numberIn = (value: unknown): number | undefined => (typeof value === 'bigint' ? Number(value) : undefined)
