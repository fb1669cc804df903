import type { Metrics } from '../metrics/metrics.ts'
import type { Admission } from './admission.ts'

/** Shows in the metrics how much long work runs and waits, and how much was refused. */
export function observeAdmission(metrics: Metrics, { queues }: Admission): void {
  const each = Object.entries(queues)
  metrics.series('plantstore_work_running', () => each.map(([work, queue]) => [{ work }, queue.running]))
  metrics.series('plantstore_work_waiting', () =>
    (['search', 'patch', 'change'] as const).map((work) => [{ work }, queues[work].waiting]),
  )
  metrics.series('plantstore_work_refused_total', () =>
    each.flatMap(([work, { refused }]) =>
      Object.entries(refused).map(([bound, count]) => [{ work, bound }, count] as const),
    ),
  )
  const { search, export: exports, import: imports, dryRun, patch, change } = queues
  metrics.bound('maxSearches', search.most.running, () => search.running)
  metrics.bound('searchQueue', search.most.waiting, () => search.waiting)
  metrics.bound('maxExports', exports.most.running, () => exports.running)
  metrics.bound('maxImports', imports.most.running, () => imports.running)
  metrics.bound('maxDryRuns', dryRun.most.running, () => dryRun.running)
  metrics.bound('maxPatches', patch.most.running, () => patch.running)
  metrics.bound('changeQueue', change.most.waiting, () => change.waiting)
}
