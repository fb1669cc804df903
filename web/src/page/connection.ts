import { effect, signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { asksForSignIn, type Retry } from '../../../client/src/index.ts'

/**
 * `lost`: a request got no answer at its last attempt, so what the page shows may be out of date. `looking`: the person
 * has asked for a further one.
 */
export const connection = signal<'good' | 'retrying' | 'lost' | 'looking'>('good')

/** Whether another program answers in place of the service, as a network does that asks for a sign-in of its own. */
export const isHeldUp = signal(false)

/** ms between two looks for a lost service, while the tab is visible. */
const PAUSE = 7000

/** Reads that wait for the service to answer again. */
const waiting = new Set<() => void>()
let hasLost = false
let isLooking = false
/** Asks the service for an answer. */
let ask: () => Promise<unknown> = async () => {}
let timer: ReturnType<typeof setTimeout> | undefined

/** Called before each wait for a further attempt, which may never come: the person may go elsewhere. */
export function willRetry({ reason }: Pick<Retry, 'reason'>): void {
  if (hasLost) return
  isHeldUp.value = asksForSignIn(reason)
  connection.value = 'retrying'
  lookLater()
}

/** Called after the last attempt of a request that got no answer of the service. */
export function giveUp(reason: unknown): void {
  hasLost = true
  isHeldUp.value = asksForSignIn(reason)
  connection.value = 'lost'
  lookLater()
}

/** Called at each answer of the service. The reads that failed while the service was lost are repeated once. */
export function answered(): void {
  connection.value = 'good'
  clearTimeout(timer)
  timer = undefined
  if (!hasLost) return
  hasLost = false
  for (const read of [...waiting]) read()
}

/** Calls `run` as soon as a request waits for a further attempt, so that nobody has to look on. @returns ends that */
export function whenAway(run: () => void): () => void {
  let isDone = false
  const end = effect(() => {
    if (connection.value === 'good' || isDone) return
    isDone = true
    run()
  })
  return end
}

export const untilAway = (): Promise<void> => new Promise((resolve) => void whenAway(resolve))

/** Looks for the lost service, and shows that. */
export function lookNow(): void {
  if (!hasLost) return
  connection.value = 'looking'
  void look()
}

/**
 * Looks for the lost service as soon as the network is back, or the tab is visible again.
 *
 * @param probe asks the service for an answer, once, and rejects where none comes
 */
export function followNetwork(probe: () => Promise<unknown>): void {
  ask = probe
  const lookUnseen = () => {
    if (hasLost && !document.hidden) void look()
  }
  addEventListener('online', lookUnseen)
  document.addEventListener('visibilitychange', lookUnseen)
}

/** Whether reads that failed will be repeated. */
export const isLost = (): boolean => hasLost

/** @returns ends the waiting */
export function afterLoss(read: () => void): () => void {
  waiting.add(read)
  return () => waiting.delete(read)
}

/** Repeats a read that has failed when the service answers again. @param read undefined: none has failed */
export function useRepeat(read: (() => void) | undefined): void {
  const latest = useRef(read)
  latest.current = read
  const hasFailed = read !== undefined
  useLayoutEffect(() => (hasFailed ? afterLoss(() => latest.current?.()) : undefined), [hasFailed])
}

async function look(): Promise<void> {
  if (isLooking) return
  isLooking = true
  try {
    await ask()
    answered()
  } catch (error) {
    // Another request may have got an answer meanwhile.
    if (connection.value !== 'good') giveUp(error)
  }
  isLooking = false
}

/** A hidden tab looks again when it becomes visible. */
function lookLater(): void {
  timer ??= setTimeout(() => {
    timer = undefined
    if (!document.hidden) void look()
  }, PAUSE)
}
