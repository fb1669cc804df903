import { after } from 'node:test'
import type { Scene } from './clean-up.ts'

const ends: (() => Promise<void> | void)[] = []
after(async () => {
  for (const end of ends.toReversed()) await end()
})

/** The scene of what the tests of a file share: it ends after the last of them. */
export const wholeFile: Scene = { after: (end) => void ends.push(end) }
