import { computed, signal } from '@preact/signals'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../page/leaving.ts'
import { named } from '../page/named.ts'
import { PageError } from '../page/said.ts'
import { nameHere } from '../page/service.ts'
import { onSignOut, type Session, session } from '../session/session.ts'
import { type Change, type Content, isFailing, isHeld, isSame, type Owner, type Waiting } from './change.ts'
import { database } from './database.ts'

/** All changes that wait on this device, in the order in which they are sent. */
const all = signal<readonly Waiting[]>([])
/** Those that the browser could not keep: this tab alone has them. null: dropped, though the browser still has it. */
const unkept = new Map<string, Waiting | null>()

export const ownerOf = ({ own }: Session): Owner => ({ token: own.id, name: own.name, store: own.store })

const owner = computed(() => (session.value.kind === 'signed-in' ? ownerOf(session.value) : undefined))
const isOf = ({ owner: of }: Waiting, mine: Owner | undefined): boolean =>
  mine !== undefined && of.token === mine.token && of.store === mine.store

/** The keys of all changes on this device. */
export const keys = computed(() => new Set(all.value.map(({ key }) => key)))
/** The changes of the person who is signed in. */
export const waiting = computed(() => all.value.filter((each) => isOf(each, owner.value)))
/** Changes that another token made on this device, or that belong to another store. */
export const strange = computed(() => all.value.filter((each) => !isOf(each, owner.value)))
/** Those that can be sent without a decision of the person. */
export const due = computed(() => waiting.value.filter((each) => !isHeld(each)))
/** Those that are sent again from time to time, while the person may decide to change or drop them. */
export const failing = computed(() => waiting.value.filter(isFailing))
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

const channel = new BroadcastChannel(nameHere('plantstore-waiting'))
channel.onmessage = () => void refresh()

/** Reads what waits: another tab may have changed it. */
export async function refresh(): Promise<void> {
  let kept: readonly Waiting[] = []
  try {
    kept = await (await database()).getAll('waiting')
  } catch {
    // The tab alone has what waits.
  }
  const tabs = [...unkept.values()].filter((each) => each !== null)
  all.value = [...kept.filter(({ key }) => !unkept.has(key)), ...tabs].sort((one, other) => one.at - other.at)
  isKept.value = tabs.length === 0
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
    before ??= all.value.find((each) => each.key === key)
    now ??= change(before)
    unkept.set(key, now ?? null)
  }
  await refresh()
  channel.postMessage(null)
  return { before, now }
}

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
