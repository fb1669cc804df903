import type { Config } from '../settings/config.ts'
import { distributeStore } from './open-store.ts'
import { Progress, type ProgressState } from './progress.ts'

export interface DistributeFlags {
  readonly shards?: number
  readonly quiet?: true
}

/**
 * Distributes a store over the workers of a Citus coordinator, and prints each step.
 *
 * @throws OperatorError when the store can't be distributed
 */
export async function distribute({ shards, quiet }: DistributeFlags, { store }: Config): Promise<void> {
  let state: ProgressState = { doing: 'preparing', rows: 0, done: undefined }
  const progress = new Progress(() => state, { quiet: quiet === true })
  const say = (text: string) => {
    if (quiet !== true) progress.note(text)
  }
  try {
    await distributeStore(store, {
      shards,
      onStep: say,
      onNotice: (text) => progress.note(text),
      onMoved: (rows, total) => {
        state = { doing: 'moving', rows, done: total === 0 ? undefined : Math.min(1, rows / total) }
      },
    })
  } finally {
    progress.end()
  }
}
