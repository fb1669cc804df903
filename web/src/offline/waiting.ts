import { computed, signal } from '@preact/signals'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../page/leaving.ts'
import { named } from '../page/named.ts'
import { PageError } from '../page/said.ts'
import { nameHere } from '../page/service.ts'
import { onSignOut, type Session, session } from '../session/session.ts'
import { type Change, type Content, isFailing, isHeld, isSame, type Owner, type Waiting } from './change.ts'
import { database, onEmptied } from './database.ts'

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

/** The keys of changes whose answers a person awaits: nobody else needs to know of them. */
export const watched = signal<ReadonlySet<string>>(new Set())

export function watch(key: string): void {
  watched.value = new Set(watched.value).add(key)
}

/** Ends that, and tells the other tabs whether the change waits. */
export function unwatch(key: string): void {
  watched.value = new Set([...watched.value].filter((each) => each !== key))
  channel.postMessage(key)
}

/** Tells the keys of changes that other tabs read again. */
const channel = new BroadcastChannel(nameHere('plantstore-waiting'))
channel.onmessage = ({ data }) => void (typeof data === 'string' ? read(data) : refresh())

function show(key: string, change: Waiting | undefined): void {
  const next = new Map(byKey.value)
  if (change === undefined) next.delete(key)
  else next.set(key, change)
  byKey.value = next
}

async function read(key: string): Promise<void> {
  if (unkept.has(key)) return
  try {
    show(key, await (await database()).get('waiting', key))
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

/**
 * Changes, makes or removes what waits under a key, on stable storage.
 *
 * @param change returns undefined to remove it
 * @returns what was there before, and what is there now
 */
export async function update(
  key: string,
  change: (now: Waiting | undefined) => Waiting | undefined,
): Promise<{ readonly before: Waiting | undefined; readonly now: Waiting | undefined }> {
  const inTab = unkept.get(key)
  let before = inTab ?? undefined
  let now = inTab === undefined ? undefined : change(before)
  try {
    const changing = (await database()).transaction('waiting', 'readwrite', { durability: 'strict' })
    if (inTab === undefined) {
      before = await changing.store.get(key)
      now = change(before)
    }
    await (now === undefined ? changing.store.delete(key) : changing.store.put(now))
    await changing.done
    unkept.delete(key)
  } catch {
    before ??= byKey.value.get(key)
    now ??= change(before)
    unkept.set(key, now ?? null)
  }
  noteKept()
  show(key, now)
  if (!watched.value.has(key)) channel.postMessage(key)
  return { before, now }
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

/**
 * Keeps a change until the service has it. All changes of one plant are one.
 *
 * @param isDecided whether the person has seen what the store has, so that an earlier base no longer counts
 * @returns what waited before, and what waits now: nothing where the change takes back one that was never sent
 * @throws PageError where another plant waits under the id
 */
export function keep(key: string, change: Change, owner: Owner, isDecided = false): ReturnType<typeof update> {
  return update(key, (before) => {
    if (before !== undefined && !isDecided && isOfAnother(change, before))
      throw new PageError(say('waiting.another', { id: String(change.id), name: named(before.wanted?.name ?? '') }))
    const { id = change.id, isOwnId = id !== undefined, at = Date.now() } = before ?? {}
    const { base, tried } = before === undefined || isDecided ? { ...change, tried: undefined } : before
    if (tried === undefined && isSame(base, change.wanted)) return undefined
    return { key, id, isOwnId, base, wanted: change.wanted, tried, at, owner }
  })
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

export const drop = async (key: string): Promise<void> => void (await update(key, () => undefined))

/** Lets a new plant take another free id. */
export async function renumber(key: string): Promise<void> {
  await update(key, (now) => now && { ...now, id: undefined, tried: undefined, met: undefined })
}

/** Lets an owner send what another one has made. What they have changed themselves stays, and so does the other change. */
export async function takeOver(change: Waiting, owner: Owner): Promise<void> {
  const { isOwnId, key: old, ...rest } = change
  // Another store has not reserved the id, and no request has reached it.
  const isThere = change.owner.store === owner.store
  const id = isOwnId || isThere ? change.id : undefined
  const tried = isThere ? change.tried : undefined
  const key = keyOf(id, owner)
  const taken = { ...rest, key, id, isOwnId, tried, owner, met: undefined, refusal: undefined }
  const { before } = await update(key, (there) => there ?? taken)
  if (before === undefined) await drop(old)
}

onSignOut(() => {
  for (const { key } of waiting.value) void drop(key)
})

const loss = (): string | undefined =>
  waiting.value.length === 0 ? undefined : say('waiting.loss', { count: waiting.value.length })
askBeforeLosing(() => (isKept.value ? loss() : undefined), { isOnDevice: true })
askBeforeLosing(() => (isKept.value ? undefined : loss()))
