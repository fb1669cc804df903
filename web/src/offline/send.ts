import { effect } from '@preact/signals'
import { PlantstoreError } from '../../../client/src/index.ts'
import { connection, untilAway } from '../page/connection.ts'
import { isAbort, isRefusal, isSilence } from '../page/said.ts'
import { nameHere } from '../page/service.ts'
import { type Session, session } from '../session/session.ts'
import { type Answer, attempt } from './attempt.ts'
import { type Change, isSame, type Waiting } from './change.ts'
import {
  byKey,
  drop,
  due,
  edited,
  failing,
  keep,
  keyOf,
  ownerOf,
  refresh,
  restore,
  tellSent,
  unwatch,
  update,
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
  watch(key)
  try {
    inFlight.get(key)?.abort()
    const { before, now: kept } = await keep(key, change, owner, isDecided)
    if (kept === undefined && change.id !== undefined) return { kind: 'stored', id: change.id }
    if (kept === undefined) return { kind: 'waits' }
    const mayGo = connection.value === 'good' && sender.isConfirmed
    const outcome: Outcome = mayGo ? await sendWatched(sender, key, before, sending) : { kind: 'waits' }
    if (outcome.kind === 'waits') askToKeep()
    return outcome
  } finally {
    unwatch(key)
  }
}

let hasAsked = false

/** Asks the browser to keep what waits when it runs out of room. Some browsers ask the person, so not at each change. */
function askToKeep(): void {
  if (hasAsked || !isSecureContext) return
  hasAsked = true
  void navigator.storage.persist().catch(() => {})
}

/** Sends a change while the person looks on, and goes on in the background as soon as that takes long. */
async function sendWatched(
  sender: Session,
  key: string,
  before: Waiting | undefined,
  sending: Sending,
): Promise<Outcome> {
  // Whichever comes first, the answer or the loss of the service, decides who gets the outcome: the person or the queue.
  let isWatched: boolean | undefined
  const sent = send(sender, key, sending).then(
    async (outcome) => {
      isWatched ??= true
      if (!isWatched) await hold(key, outcome)
      else if (outcome.kind === 'met') await drop(key)
      // What the person has changed on its way goes out once more.
      look(false)
      return outcome
    },
    async (error: unknown): Promise<Outcome> => {
      isWatched ??= true
      if (isWatched && !isSilence(error) && !isAbort(error)) {
        await restore(key, before)
        throw error
      }
      await refuse(key, error)
      return { kind: 'waits' }
    },
  )
  const waits = untilAway().then((): Outcome | Promise<Outcome> => {
    isWatched ??= false
    return isWatched ? sent : { kind: 'waits' }
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
  // Before the service has confirmed whose token it is, and which store it has, nothing goes out.
  if (current.kind === 'signed-in' && current.isConfirmed && connection.value === 'good' && isDue)
    void sendNow(current, isAgain)
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
    const next = () => listOf(isAgain).find(({ key }) => !failed.has(key) && isFree(key))
    for (let found = next(); found !== undefined && session.value === sender; found = next()) {
      const { key } = found
      try {
        const outcome = await send(sender, key)
        await hold(key, outcome)
        if (outcome.kind !== 'stored') failed.add(key)
      } catch (error) {
        if (!(await refuse(key, error))) return
        failed.add(key)
      }
    }
  }
  const locks: LockManager | undefined = navigator.locks
  // Browsers have locks on HTTPS and on the machine itself only. Two tabs that send the same do no harm.
  await (locks === undefined ? work() : locks.request(nameHere('plantstore-send'), work))
}

const isFree = (key: string): boolean => !watched.value.has(key) && edited.value !== key && !inFlight.has(key)

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
      const using = { client, mayRead: may('plants:read'), signal, tried: before.tried }
      const answer = await attempt({ ...now, id }, using)
      if (answer.kind === 'stored') {
        await update(key, (later) =>
          later === undefined || (isSame(later.wanted, wanted) && edited.value !== key)
            ? undefined
            : { ...later, base: wanted, tried: undefined },
        )
        tellSent(id, wanted)
        return { kind: 'stored', id }
      }
      if (isOwnId || before.tried !== undefined) return answer
      // Another client has taken the free id first.
      await update(key, (later) => later && { ...later, id: undefined, tried: undefined })
    }
  } finally {
    if (inFlight.get(key) === ending) inFlight.delete(key)
  }
}

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
async function refuse(key: string, error: unknown): Promise<boolean> {
  // What has no number is of a proxy on the way, such as that of a network which wants a sign-in of its own.
  if (isAbort(error) || isRefusal(error, 0)) return true
  // 50001 is a fault that met this change at each of several attempts, and need not meet another one.
  const isOfChange =
    error instanceof PlantstoreError && (error.number === 50001 || (error.status >= 400 && error.status < 500))
  if (!isOfChange || error.status === 401 || isRefusal(error, 42901)) return false
  const { number, message } = error
  await update(key, (now) => now && { ...now, refusal: { number, message } })
  return true
}
