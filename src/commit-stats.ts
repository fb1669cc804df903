import { Histogram } from './histogram.ts'

/** `change`: a replace, update or delete of one plant. `import`: a batch of an import. */
export type CommitWork = 'create' | 'change' | 'import'

/** Counts the groups of one kind of write since the start. */
export interface CommitStats {
  /** Rows of each group that was committed. */
  readonly rows: Histogram
  /** Milliseconds of each commit, from handing over the group to its results. */
  readonly milliseconds: Histogram
  /** Groups that failed as a whole, so that every write in them was refused. */
  failures: number
}

const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]
const MILLISECONDS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000]

export const newCommitStats = (): CommitStats => ({
  rows: new Histogram(ROWS),
  milliseconds: new Histogram(MILLISECONDS),
  failures: 0,
})

/** Runs `commit` and counts it: its rows and its duration, or its failure. */
export async function countCommit<T>(stats: CommitStats, rows: number, commit: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  try {
    const results = await commit()
    stats.rows.observe(rows)
    stats.milliseconds.observe(performance.now() - startedAt)
    return results
  } catch (error) {
    stats.failures++
    throw error
  }
}

/** The fill of the fuller one of two queues: creates, and changes of single plants. */
export interface WriteQueueUse {
  readonly rows: number
  readonly maxRows: number
  /** UTF-16 units of their names and tags. */
  readonly text: number
  readonly maxText: number
}

/** The statistics of the writes of a store. */
export interface WriteStats {
  readonly commits: Readonly<Record<CommitWork, CommitStats>>
  /** Creates and changes of single plants that wait for their commit. */
  readonly waiting: number
  readonly queue: WriteQueueUse
}
