import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

/** Waits for all work of a group commit that needs no commit. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn()
}

/**
 * Returns the most milliseconds of this thread's processor time that one round of the event loop takes during a work,
 * and those of the short rounds within a millisecond before it: asking after each round would take a whole processor.
 */
export async function longestTurn(work: Promise<unknown>): Promise<number> {
  let longest = 0
  let isDone = false
  void work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    const before = process.threadCpuUsage()
    const startedAt = performance.now()
    await sleep(1)
    const { user, system } = process.threadCpuUsage(before)
    // Some systems count processor time in ticks.
    longest = Math.max(longest, Math.min((user + system) / 1000, performance.now() - startedAt))
  }
  await work
  return longest
}
