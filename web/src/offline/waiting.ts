import { computed, signal } from '@preact/signals'
import type { ActionOptions, KeptPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { connection } from '../page/connection.ts'
import { askBeforeLosing } from '../page/leaving.ts'
import { named } from '../page/named.ts'
import { PageError } from '../page/said.ts'
import { nameHere } from '../page/service.ts'
import { onSignOut, type Session, session } from '../session/session.ts'
import { type Change, type Content, isFailing, isHeld, isSame, type Owner, type Waiting } from './change.ts'
import { database, onEmptied } from './database.ts'
import { newAction } from './new-action.ts'

/** The most changes that wait on a device. On two cores with 30 other processes, Chromium keeps so many in 25 s. */
export const MOST_WAITING = 50_000

/** All changes that wait on this device, by their keys. */
export const byKey = signal<ReadonlyMap<string, Waiting>>(new Map())
/** Those in the order in which they are sent. */
const all = computed(() => [...byKey.value.values()].sort((one, other) => one.at - other.at))
/** Those that the browser could not keep: this tab alone has them. null: dropped, though the browser still has it. */
const unkept = new Map<string, Waiting | null>()

export const ownerOf = ({ own }: Session): Owner => ({ token: own.id, name: own.name, store: own.store })

const owner = computed(() => (session.value.kind === 'signed-in' ? ownerOf(session.value) : undefined))
const isOf = ({ owner: of }: Waiting, mine: Owner | undefined): boolean =>
  mine !== undefined && of.token === mine.token && of.store === mine.store

/** The changes of the person who is signed in. */
export const waiting = computed(() => all.value.filter((each) => isOf(each, owner.value)))
/** Changes that another token made on this device, or that belong to another store. */
export const strange = computed(() => all.value.filter((each) => !isOf(each, owner.value)))
/** Those that can be sent without a decision of the person. */
export const due = computed(() => waiting.value.filter((each) => !isHeld(each)))
/** Those that are sent again from time to time, while the person may decide to change or drop them. */
export const failing = computed(() => waiting.value.filter(isFailing))
/** Whether the tab has read what waits. */
export const hasRead = signal(false)
/** Whether the browser keeps all of them. */
export const isKept = signal(true)

const byId = computed(() => new Map(waiting.value.flatMap((each) => (each.id === undefined ? [] : [[each.id, each]]))))

/** The change of a plant that waits. Reads a signal. */
export const waitingFor = (id: bigint): Waiting | undefined => byId.value.get(id)

/** Called with what the store has under an id by now. */
type Listener = (id: bigint, plant: Content | null) => void

const listeners = new Set<Listener>()

/** @returns ends that */
export function onSent(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const tellSent = (id: bigint, plant: Content | null): void => {
  for (const listener of listeners) listener(id, plant)
}

/** The key of the change that the person edits in the list: until they have, it does not go out, nor leave the list. */
export const edited = signal<string | undefined>(undefined)

/** Ends the edit. A change that the service has by then is over. */
export function endEdit(): void {
  const { value: key } = edited
  edited.value = undefined
  const isOver = ({ base, wanted, tried }: Waiting) => tried === undefined && isSame(base, wanted)
  if (key !== undefined && byKey.value.has(key)) void update(key, (now) => (now && isOver(now) ? undefined : now))
}

/** The keys of changes whose answers a person awaits, each with its last wait: nobody else needs to know of them. */
export const watched = signal<ReadonlyMap<string, symbol>>(new Map())

/** @returns names the wait */
export function watch(key: string): symbol {
  const wait = Symbol(key)
  watched.value = new Map(watched.value).set(key, wait)
  return wait
}

/** Ends a wait, and tells the other tabs whether the change waits. */
export function unwatch(key: string, wait: symbol): void {
  if (watched.value.get(key) === wait) watched.value = new Map([...watched.value].filter(([each]) => each !== key))
  channel.postMessage(key)
}

/** Tells the key of a change that other tabs read again, or that they read all. */
const channel = new BroadcastChannel(nameHere('plantstore-waiting'))
channel.onmessage = ({ data }) => void (typeof data === 'string' ? read(data) : refresh())

function show(changes: readonly (readonly [key: string, change: Waiting | undefined])[]): void {
  const next = new Map(byKey.value)
  for (const [key, change] of changes) {
    if (change === undefined) next.delete(key)
    else next.set(key, change)
  }
  byKey.value = next
}

async function read(key: string): Promise<void> {
  if (unkept.has(key)) return
  try {
    show([[key, await (await database()).get('waiting', key)]])
  } catch {
    // The tab has what it knew before.
  }
}

/** Reads all that waits: another tab may have kept more, and the tab may have missed that. */
export async function refresh(): Promise<void> {
  try {
    const kept = (await (await database()).getAll('waiting')).filter(({ key }) => !unkept.has(key))
    const inTab = [...unkept.values()].filter((each) => each !== null)
    byKey.value = new Map([...kept, ...inTab].map((each) => [each.key, each]))
  } catch {
    // The tab has what it knew before.
  }
  hasRead.value = true
}

interface Updated {
  readonly before: Waiting | undefined
  readonly now: Waiting | undefined
}

/** What becomes of what waits under a key. undefined: nothing waits. */
type Becomes = (now: Waiting | undefined, key: string) => Waiting | undefined

/** Changes, makes or removes what waits under a key, on stable storage. @returns what was there, and what is there now */
export async function update(key: string, becomes: Becomes): Promise<Updated> {
  const [updated] = await updateMany([key], becomes)
  return updated ?? { before: undefined, now: undefined }
}

/** Does that for different keys in one transaction. @returns what was there, and what is there now, for each key */
export async function updateMany(keys: readonly string[], becomes: Becomes): Promise<readonly Updated[]> {
  const inTab = (key: string) => unkept.get(key) ?? undefined
  let updated: Updated[] = []
  try {
    const changing = (await database()).transaction('waiting', 'readwrite', { durability: 'strict' })
    const { store } = changing
    const there = await Promise.all(keys.map((key) => (unkept.has(key) ? inTab(key) : store.get(key))))
    updated = keys.map((key, i) => ({ before: there[i], now: becomes(there[i], key) }))
    const writes = updated.map(({ now }, i) => (now === undefined ? store.delete(keys[i] ?? '') : store.put(now)))
    await Promise.all([...writes, changing.done])
    for (const key of keys) unkept.delete(key)
  } catch {
    // The browser has no room, or keeps nothing.
    updated = keys.map((key, i) => {
      if (updated[i] !== undefined) return updated[i]
      const before = unkept.has(key) ? inTab(key) : byKey.value.get(key)
      return { before, now: becomes(before, key) }
    })
    updated.forEach(({ now }, i) => void unkept.set(keys[i] ?? '', now ?? null))
  }
  noteKept()
  show(updated.map(({ now }, i) => [keys[i] ?? '', now]))
  const [only, ...others] = keys.filter((key) => !watched.value.has(key))
  if (only !== undefined) channel.postMessage(others.length === 0 ? only : null)
  return updated
}

function noteKept(): void {
  isKept.value = [...unkept.values()].every((each) => each === null)
}

onEmptied(async (kept) => {
  try {
    const changing = kept.transaction('waiting', 'readwrite', { durability: 'strict' })
    for (const [key, change] of byKey.value) {
      if (unkept.has(key) || (await changing.store.getKey(key)) === undefined) await changing.store.put(change)
    }
    for (const [key, change] of unkept) if (change === null) await changing.store.delete(key)
    await changing.done
    unkept.clear()
  } catch {
    for (const [key, change] of byKey.value) unkept.set(key, change)
  }
  noteKept()
})

/** How changes are kept. */
export interface Keeping {
  readonly owner: Owner
  /** Whether the person has seen what the store has, so that an earlier base no longer counts. */
  readonly isDecided?: boolean | undefined
  /** What the person has done together by them. A further change of one of the plants leaves it. */
  readonly action?: ActionOptions | undefined
  /** Whether a request with them went out, and its answer was lost. */
  readonly isTried?: boolean
  /** What the store has instead of their bases: the person decides. */
  readonly theirs?: ReadonlyMap<bigint, KeptPlant | null>
}

/**
 * Keeps changes until the service has them. All changes of one plant are one.
 *
 * @param changes by their keys
 * @returns what waited before, and what waits now: nothing where a change takes back one that was never sent
 * @throws PageError where another plant waits under an id, and where more would wait than may
 */
export async function keep(changes: ReadonlyMap<string, Change>, keeping: Keeping): Promise<readonly Updated[]> {
  const further = [...changes.keys()].filter((key) => !byKey.value.has(key)).length
  if (further > 0 && !hasRoomFor(further)) throw new PageError(say('waiting.tooMany', { most: MOST_WAITING }))
  return updateMany([...changes.keys()], (before, key) => {
    const change = changes.get(key)
    return change && keptAs(key, change, keeping, before)
  })
}

export const hasRoomFor = (count: number): boolean => byKey.value.size + count <= MOST_WAITING

function keptAs(key: string, change: Change, keeping: Keeping, before: Waiting | undefined): Waiting | undefined {
  const { owner, isDecided = false, action, isTried = false, theirs } = keeping
  const { wanted } = change
  if (before !== undefined && !isDecided && isOfAnother(change, before))
    throw new PageError(say('waiting.another', { id: String(change.id), name: named(before.wanted?.name ?? '') }))
  const { id = change.id, isOwnId = id !== undefined, at = Date.now() } = before ?? {}
  const { base, tried } = before === undefined || isDecided ? { ...change, tried: undefined } : before
  if (tried === undefined && isSame(base, wanted)) return undefined
  const current = change.id === undefined ? undefined : theirs?.get(change.id)
  const met = current === undefined ? undefined : { theirs: current }
  return { key, id, isOwnId, base, wanted, tried: isTried ? { plant: wanted } : tried, at, owner, action, met }
}

/**
 * Whether a change is of another plant than the one that waits under its id: the person saw no plant there, or one that
 * is not the new plant that waits.
 */
function isOfAnother({ base, wanted }: Change, before: Waiting): boolean {
  const isNew = base === null && wanted !== null
  if (before.wanted === null || !(isNew || before.base === null)) return false
  return !isSame(base, before.wanted) && !(before.tried && isSame(base, before.tried.plant))
}

/** Lets what waited before a refused change wait on. @param before undefined: nothing */
export async function restore(key: string, before: Waiting | undefined): Promise<void> {
  await update(key, (now) => before && { ...before, tried: now?.tried ?? before.tried })
}

/** Under which the changes of a plant wait. One without an id has a key of its own. */
export function keyOf(id: bigint | undefined, { token, store = '' }: Owner): string {
  return `${token} ${store} ${id ?? `new ${Date.now()} ${Math.random()}`}`
}

export const drop = (key: string): Promise<void> => dropMany([key])

export const dropMany = async (keys: readonly string[]): Promise<void> => void (await updateMany(keys, () => undefined))

/** Lets a new plant take another free id. */
export async function renumber(key: string): Promise<void> {
  await update(key, (now) => now && { ...now, id: undefined, tried: undefined, met: undefined })
}

/** Lets an owner send what another one has made. What they have changed themselves stays, and so does the other change. */
export async function takeOver(changes: readonly Waiting[], owner: Owner): Promise<void> {
  const actions = new Map<string | undefined, ActionOptions>()
  const actionOf = (change: Waiting) => {
    // The name of an action belongs to the token that has used it first.
    const action = actions.get(change.action?.action) ?? newAction(change.action?.actionTitle ?? '')
    actions.set(change.action?.action, action)
    return change.action && action
  }
  const taken = new Map(changes.map((change) => [change.key, { ...takenBy(owner, change), action: actionOf(change) }]))
  const byNew = new Map([...taken].map(([old, change]) => [change.key, old]))
  const theirs = await updateMany([...byNew.keys()], (there, key) => there ?? taken.get(byNew.get(key) ?? ''))
  await dropMany([...byNew.values()].filter((_, i) => theirs[i]?.before === undefined))
}

function takenBy(owner: Owner, change: Waiting): Waiting {
  // Another store has not reserved the id, and no request has reached it.
  const isThere = change.owner.store === owner.store
  const id = change.isOwnId || isThere ? change.id : undefined
  const tried = isThere ? change.tried : undefined
  return { ...change, key: keyOf(id, owner), id, tried, owner, met: undefined, refusal: undefined }
}

/** Whether a change can go out now: before the service has confirmed whose token it is, and which store it has, none does. */
export const mayGo = ({ isConfirmed }: Session): boolean => connection.value === 'good' && isConfirmed

let hasAsked = false

/** Asks the browser to keep what waits when it runs out of room. Some browsers ask the person, so not at each change. */
export function askToKeep(): void {
  if (hasAsked || !isSecureContext) return
  hasAsked = true
  void navigator.storage.persist().catch(() => {})
}

onSignOut(() => void dropMany(waiting.value.map(({ key }) => key)))

const loss = (): string | undefined =>
  waiting.value.length === 0 ? undefined : say('waiting.count', { count: waiting.value.length })
askBeforeLosing(() => (isKept.value ? loss() : undefined), { isOnDevice: true })
askBeforeLosing(() => (isKept.value ? undefined : loss()))
