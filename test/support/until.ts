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
  while (!(await holds())) {
    if (process.uptime() > end) throw new Error(inVain(fault))
    await sleep(5)
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

const inVain = (fault: string | (() => string)): string =>
  `${typeof fault === 'string' ? fault : fault()}, after ${PATIENCE / 1000} s`
