import { randomInt } from 'node:crypto'

/** Seconds between two attempts for one event; the last one is that of all further attempts. */
const DELAYS = [5, 30, 300, 1800, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * 3600)]

/**
 * Milliseconds from the end of a failed attempt to the next one, changed by up to a fifth, so that a receiver that
 * comes back does not get all events at once.
 *
 * @param attempts failed ones, at least 1
 */
export const retryDelay = (attempts: number): number =>
  (DELAYS[Math.min(attempts, DELAYS.length) - 1] ?? 0) * randomInt(800, 1201)

/** Statuses of a receiver that is too busy, or away. */
const BUSY: readonly (number | undefined)[] = [429, 502, 503, 504]

/** Whether an answer asks that all events wait, and not only this one. */
export const isBusy = (status: number | undefined, retryAfter: number | undefined): boolean =>
  retryAfter !== undefined || BUSY.includes(status)
