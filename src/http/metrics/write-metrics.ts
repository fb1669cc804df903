import type { CommitStats, WriteStats } from '../../commit-stats.ts'
import type { Metrics } from './metrics.ts'

/** Registers the metrics of groups of writes, of their commits, and of waiting writes. */
export function observeWrites(metrics: Metrics, writes: WriteStats): void {
  const each = <T>(read: (stats: CommitStats) => T) =>
    Object.entries(writes.commits).map(([work, stats]) => [{ work }, read(stats)] as const)
  metrics.histogram('plantstore_commit_rows', 1, () => each(({ rows }) => rows))
  metrics.histogram('plantstore_commit_seconds', 1000, () => each(({ milliseconds }) => milliseconds))
  metrics.series('plantstore_commit_failures_total', () => each(({ failures }) => failures))
  metrics.value('plantstore_creates_waiting', () => writes.waiting)
  metrics.bound('maxWaiting', writes.queue.maxRows, () => writes.queue.rows)
  metrics.bound('queuedText', writes.queue.maxText, () => writes.queue.text)
}
