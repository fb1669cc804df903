import { type EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds: enough on a busy machine, and less than a test may take, so that a vain wait fails with a sentence. */
export const PATIENCE = 80_000

/**
 * Waits until a condition holds, by asking again and again.
 *
 * @param fault what is wrong if it never holds
 * @throws Error with the fault
 */
export async function until(holds: () => boolean | Promise<boolean>, fault: string | (() => string)): Promise<void> {
  // A test may have replaced the clock of performance.
  const end = process.uptime() + PATIENCE / 1000
  // Asks less often for what takes seconds: on a busy machine, asking would take the time that it needs.
  for (let pause = 5; !(await holds()); pause = Math.min(50, pause * 1.02)) {
    if (process.uptime() > end) throw new Error(inVain(fault))
    await sleep(pause)
  }
}

/** Waits for a promise. @throws Error with the fault if it stays open */
export async function settled<T>(happening: Promise<T>, fault: string | (() => string)): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(inVain(fault))), PATIENCE)
  try {
    return await Promise.race([happening, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for an event. @throws Error with the fault if it does not come */
export async function happens(source: EventEmitter, event: string, fault: string): Promise<void> {
  await settled(once(source, event), fault)
}

const inVain = (fault: string | (() => string)): string =>
  `${typeof fault === 'string' ? fault : fault()}, after ${PATIENCE / 1000} s`
