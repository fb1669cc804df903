import { setImmediate as turn } from 'node:timers/promises'

/** Waits for all work of a group commit that needs no commit. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn()
}
