import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import type { StoredPlant } from '../../../client/src/index.ts'
import { nameHere } from '../page/service.ts'
import type { Waiting } from './change.ts'

/** A plant as this device has seen it last. */
export interface SeenPlant {
  readonly owner: string
  readonly id: string
  readonly plant: StoredPlant
  /** Milliseconds since 1970. */
  readonly at: number
}

interface Schema extends DBSchema {
  waiting: { key: string; value: Waiting }
  seen: { key: [owner: string, id: string]; value: SeenPlant; indexes: { at: number } }
}

export type Database = IDBPDatabase<Schema>

const VERSION = 2

let opened: Promise<Database> | undefined
let restore: ((kept: Database) => Promise<void>) | undefined
/** Whether the browser has taken the database from this tab: it may have emptied it. */
let isTaken = false

/** Registers what puts back what this tab has, before anything reads a database that the browser may have emptied. */
export const onEmptied = (back: (kept: Database) => Promise<void>): void => {
  restore = back
}

/** Rejects where the browser keeps nothing, such as with storage switched off, and a page of a newer version did. */
export function database(): Promise<Database> {
  opened ??= open().catch((error: unknown) => {
    opened = undefined
    throw error
  })
  return opened
}

async function open(): Promise<Database> {
  const kept = await openDB<Schema>(nameHere('plantstore'), VERSION, {
    // A later version changes what an earlier one has kept, and never removes it: it is nowhere else.
    upgrade(changed, before) {
      if (before < 1) changed.createObjectStore('waiting', { keyPath: 'key' })
      if (before < 2) changed.createObjectStore('seen', { keyPath: ['owner', 'id'] }).createIndex('at', 'at')
    },
    blocking(_version, wanted, { target }) {
      // Another tab has a later version of the page, which must not wait for this one, or somebody deletes the database.
      if (target instanceof IDBDatabase) target.close()
      if (wanted === null) takeBack()
      else opened = undefined
    },
    terminated: takeBack,
  })
  if (isTaken) await restore?.(kept)
  isTaken = false
  return kept
}

function takeBack(): void {
  isTaken = true
  opened = undefined
  void database().catch(() => {})
}
