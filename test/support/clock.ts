import type { TestContext } from 'node:test'

/** Lets the times of `performance.now()` in this process run on from where a test puts them. @returns adds milliseconds */
export function movableTime(t: TestContext): (milliseconds: number) => void {
  const now = performance.now.bind(performance)
  let ahead = 0
  t.mock.method(performance, 'now', () => now() + ahead)
  return (milliseconds) => {
    ahead += milliseconds
  }
}

/** Lets the times of `performance.now()` in this process stand still, however busy the machine is. */
export function standingTime(t: TestContext): void {
  const now = performance.now()
  t.mock.method(performance, 'now', () => now)
}

/** Lets the wall clock of this process run on from where a test sets it. @returns sets it forward, or back */
export function movableClock(t: TestContext): (milliseconds: number) => void {
  const now = Date.now.bind(Date)
  let ahead = 0
  t.mock.method(Date, 'now', () => now() + ahead)
  return (milliseconds) => {
    ahead += milliseconds
  }
}
