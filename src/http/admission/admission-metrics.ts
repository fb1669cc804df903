import type { Metrics } from '../metrics/metrics.ts'
import type { Admission } from './admission.ts'

/** Registers the metrics of long work that runs, waits or was refused. */
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
  metrics.bound('maxSearches', search.bounds.running, () => search.running)
  metrics.bound('searchQueue', search.bounds.waiting, () => search.waiting)
  metrics.bound('maxExports', exports.bounds.running, () => exports.running)
  metrics.bound('maxImports', imports.bounds.running, () => imports.running)
  metrics.bound('maxDryRuns', dryRun.bounds.running, () => dryRun.running)
  metrics.bound('maxPatches', patch.bounds.running, () => patch.running)
  metrics.bound('changeQueue', change.bounds.waiting, () => change.waiting)
}
