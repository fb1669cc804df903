import { effect } from '@preact/signals'
import { PlantstoreError } from '../../../client/src/index.ts'
import { untilAway } from '../page/connection.ts'
import { isAbort, isRefusal, isSilence } from '../page/said.ts'
import { nameHere } from '../page/service.ts'
import { type Session, session } from '../session/session.ts'
import { type Answer, attempt } from './attempt.ts'
import { type Change, type Content, isSame, type Waiting } from './change.ts'
import { isContradiction, isRow, modeOf, PART, sendPart } from './part.ts'
import {
  askToKeep,
  byKey,
  drop,
  due,
  edited,
  failing,
  keep,
  keyOf,
  mayGo,
  ownerOf,
  refresh,
  restore,
  tellSent,
  unwatch,
  update,
  updateMany,
  watch,
  watched,
} from './waiting.ts'

/** What became of a change. */
export type Outcome =
  | { readonly kind: 'stored'; readonly id: bigint }
  | Extract<Answer, { readonly kind: 'met' }>
  | { readonly kind: 'waits' }

export interface Sending {
  /** That of the change which this one replaces; by default the plant has an id, which finds it. */
  readonly key?: string
  /** Whether the person has seen what the store has, so that an earlier base no longer counts. */
  readonly isDecided?: boolean
  /** Takes a free id for a new plant. By default the page reserves one, which no other client gets. */
  readonly freeId?: () => Promise<bigint>
}

/** ms between two attempts at what the service was too busy for, or failed at. */
const PAUSE = 30_000

/** Ends the requests for a change, by its key. */
const inFlight = new Map<string, AbortController>()

/**
 * Keeps a change on the device, and sends it. Where the service does not answer, the change waits.
 *
 * @throws what `said` words, where the service refuses the change or another plant waits under its id; then waits what
 *   did before
 */
export async function submit(sender: Session, change: Change, sending: Sending = {}): Promise<Outcome> {
  const owner = ownerOf(sender)
  const { key = keyOf(change.id, owner), isDecided } = sending
  const wait = watch(key)
  try {
    inFlight.get(key)?.abort()
    const [{ before, now: kept } = {}] = await keep(new Map([[key, change]]), { owner, isDecided })
    if (kept === undefined && change.id !== undefined) return { kind: 'stored', id: change.id }
    if (kept === undefined) return { kind: 'waits' }
    const outcome = mayGo(sender) ? await sendWatched(sender, { key, before, wait }, sending) : WAITS
    if (outcome.kind === 'waits') askToKeep()
    return outcome
  } finally {
    unwatch(key, wait)
  }
}

const WAITS: Outcome = { kind: 'waits' }

interface Watched {
  readonly key: string
  /** What waited before. */
  readonly before: Waiting | undefined
  readonly wait: symbol
}

/** Sends a change while the person looks on, and goes on in the background as soon as that takes long. */
async function sendWatched(sender: Session, { key, before, wait }: Watched, sending: Sending): Promise<Outcome> {
  // Whichever comes first, the answer or the loss of the service, decides who gets the outcome: the person or the queue.
  let isWatched: boolean | undefined
  const sent = send(sender, key, sending).then(
    async (outcome) => {
      isWatched ??= true
      if (!isWatched) await hold(key, outcome)
      else if (outcome.kind === 'met' && watched.value.get(key) === wait) await drop(key)
      // What the person has changed on its way goes out once more.
      look(false)
      return outcome
    },
    async (error: unknown): Promise<Outcome> => {
      isWatched ??= true
      if (isWatched && !isSilence(error) && !isAbort(error)) {
        // What the person wants by now goes out by itself, and is not taken back.
        if (watched.value.get(key) === wait) await restore(key, before)
        throw error
      }
      await refuse([key], error)
      return WAITS
    },
  )
  const waits = untilAway().then((): Outcome | Promise<Outcome> => {
    isWatched ??= false
    return isWatched ? sent : WAITS
  })
  return Promise.race([sent, waits])
}

/** Sends what waits whenever the service answers, also what another tab has kept. */
export function followWaiting(): void {
  effect(() => look(false))
  setInterval(() => void refresh().then(() => look(true)), PAUSE)
  // What the person drops, in this tab or in another one, is not sent any more.
  effect(() => {
    const { value: there } = byKey
    for (const [key, ending] of inFlight) if (!there.has(key)) ending.abort()
  })
  void refresh()
}

let isSending = false

/** @param isAgain whether to send what the service has failed at, too */
function look(isAgain: boolean): void {
  const { value: current } = session
  const isDue = listOf(isAgain).some(({ key }) => isFree(key))
  if (current.kind === 'signed-in' && mayGo(current) && isDue) void sendNow(current, isAgain)
}

const listOf = (isAgain: boolean): readonly Waiting[] => (isAgain ? [...due.value, ...failing.value] : due.value)

async function sendNow(sender: Session, isAgain: boolean): Promise<void> {
  if (isSending) return
  isSending = true
  try {
    await sendAll(sender, isAgain)
  } finally {
    isSending = false
  }
  // Where the person was confirmed or signed in meanwhile, the rest need not wait.
  if (session.value !== sender) look(isAgain)
}

/** Sends what waits, one after the other, in one tab at a time. What comes meanwhile goes before what has failed. */
async function sendAll(sender: Session, isAgain: boolean): Promise<void> {
  const work = async () => {
    await refresh()
    const failed = new Set<string>()
    const isNext = ({ key }: Waiting) => !failed.has(key) && isFree(key)
    for (;;) {
      const first = listOf(isAgain).find(isNext)
      if (first === undefined || session.value !== sender) return
      const keys = first.action === undefined ? [first.key] : keysLike(first, listOf(isAgain).filter(isNext))
      let alone = keys
      try {
        if (keys.length > 1) alone = await sendTogether(sender, keys)
      } catch (error) {
        alone = []
        if (!(await refuse(keys, error))) return
        // What the person has changed on its way has ended the request, and the others go out once more.
        if (!isAbort(error)) for (const key of keys) failed.add(key)
      }
      for (const key of alone) if (session.value !== sender || !(await sendAlone(sender, key, failed))) return
    }
  }
  const locks: LockManager | undefined = navigator.locks
  // Browsers have locks on HTTPS and on the machine itself only. Two tabs that send the same do no harm.
  await (locks === undefined ? work() : locks.request(nameHere('plantstore-send'), work))
}

const isFree = (key: string): boolean => !watched.value.has(key) && edited.value !== key && !inFlight.has(key)

/** The changes that go out with one, in one request. */
function keysLike(first: Waiting, list: readonly Waiting[]): readonly string[] {
  const like = list.filter(
    (each) => each.action?.action === first.action?.action && isRow(each) && modeOf(each) === modeOf(first),
  )
  return isRow(first) ? like.slice(0, PART).map(({ key }) => key) : [first.key]
}

/** Sends changes of one action in one request. @returns those that the store contradicts, as each has to go out alone */
async function sendTogether({ client }: Session, keys: readonly string[]): Promise<readonly string[]> {
  const ending = new AbortController()
  for (const key of keys) inFlight.set(key, ending)
  try {
    const claimed = await updateMany(keys, (now) => now && { ...now, tried: { plant: now.wanted } })
    const rows = claimed.flatMap(({ before, now }) =>
      before === undefined || now?.id === undefined ? [] : [{ ...now, id: now.id, before }],
    )
    if (rows.length === 0) return []
    const { refused } = await sendPart(client, rows, rows[0]?.action ?? {}, ending.signal)
    const byKey = new Map(rows.map((row, i) => [row.key, { ...row, refused: refused.get(i) }]))
    await updateMany([...byKey.keys()], (later, key) => {
      const sent = byKey.get(key)
      if (later === undefined || sent === undefined) return undefined
      if (sent.refused === undefined) return sentAs(later, sent.wanted)
      const { number, message } = sent.refused
      const refusal = isContradiction(number) ? undefined : { number, message }
      // The refused row has changed nothing, so what an earlier request wanted counts.
      return { ...later, tried: sent.before.tried, refusal }
    })
    for (const { id, wanted, refused } of byKey.values()) if (refused === undefined) tellSent(id, wanted)
    return [...byKey.values()].filter(({ refused }) => refused && isContradiction(refused.number)).map(({ key }) => key)
  } finally {
    for (const key of keys) if (inFlight.get(key) === ending) inFlight.delete(key)
  }
}

/** @returns whether the service may take the next change all the same */
async function sendAlone(sender: Session, key: string, failed: Set<string>): Promise<boolean> {
  try {
    const outcome = await send(sender, key)
    await hold(key, outcome)
    if (outcome.kind !== 'stored') failed.add(key)
    return true
  } catch (error) {
    failed.add(key)
    return refuse([key], error)
  }
}

/** @throws what `said` words, where the service refuses the change or does not answer */
async function send(
  { client, may }: Session,
  key: string,
  { freeId = async () => (await client.reserveIds(1)).first }: Sending = {},
): Promise<Outcome> {
  const ending = new AbortController()
  const { signal } = ending
  inFlight.set(key, ending)
  try {
    for (;;) {
      const { before, now } = await claim(key, freeId)
      if (before === undefined || now?.id === undefined) return { kind: 'waits' }
      const { id, isOwnId, wanted } = now
      const { tried } = before
      const using = { client, mayRead: may('plants:read'), signal, tried, action: now.action }
      const answer = await attempt({ ...now, id }, using)
      if (answer.kind === 'stored') {
        await update(key, (later) => later && sentAs(later, wanted))
        tellSent(id, wanted)
        return { kind: 'stored', id }
      }
      if (isOwnId || tried !== undefined) return answer
      // Another client has taken the free id first.
      await update(key, (later) => later && { ...later, id: undefined, tried: undefined })
    }
  } finally {
    if (inFlight.get(key) === ending) inFlight.delete(key)
  }
}

/** What waits on once the store has what a request wanted: what the person wants beyond it by now. */
const sentAs = (later: Waiting, wanted: Content | null): Waiting | undefined =>
  isSame(later.wanted, wanted) && edited.value !== later.key ? undefined : { ...later, base: wanted, tried: undefined }

/** Notes what the next request wants, and under which id, before it goes out: its answer may be lost. */
async function claim(key: string, freeId: () => Promise<bigint>): ReturnType<typeof update> {
  const free = byKey.value.get(key)?.id === undefined ? await freeId() : undefined
  return update(key, (now) => now && { ...now, id: now.id ?? free, tried: { plant: now.wanted } })
}

/** Lets a change wait for the person where the store has something else than they saw. */
async function hold(key: string, outcome: Outcome): Promise<void> {
  if (outcome.kind !== 'met') return
  const { theirs } = outcome
  await update(key, (now) => {
    if (now === undefined || (theirs !== undefined && isSame(theirs?.plant ?? null, now.wanted))) return undefined
    const refusal = { number: 40901, message: 'another plant has the id' }
    return theirs === undefined ? { ...now, refusal } : { ...now, met: { theirs }, refusal: undefined }
  })
}

/** @returns whether the service may take the next change all the same */
async function refuse(keys: readonly string[], error: unknown): Promise<boolean> {
  // What has no number is of a proxy on the way, such as that of a network which wants a sign-in of its own.
  if (isAbort(error) || isRefusal(error, 0)) return true
  // 50001 is a fault that met this change at each of several attempts, and need not meet another one.
  const isOfChange =
    error instanceof PlantstoreError && (error.number === 50001 || (error.status >= 400 && error.status < 500))
  if (!isOfChange || error.status === 401 || isRefusal(error, 42901)) return false
  const { number, message } = error
  await updateMany(keys, (now) => now && { ...now, refusal: { number, message } })
  return true
}
