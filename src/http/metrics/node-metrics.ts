import { collectDefaultMetrics, type Registry } from '@prometheus-io/client'

/**
 * Metrics for which Node.js lists every open connection at each scrape, so that their cost grows with the number of
 * clients. `plantstore_connections` and `process_open_fds` show the same without this cost.
 */
const EXPENSIVE = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
]

/**
 * Metrics of a window over the time of day, which a loop moves in steps of 12 s: after a start in 1970 and the set of the
 * clock, it stops the event loop for 45 s. `nodejs_eventloop_lag_seconds` shows the same without a window.
 */
const WINDOWED = ['nodejs_eventloop_utilization_summary', 'nodejs_eventloop_utilization_histogram']
/** Milliseconds, the most that a timer takes: the library has no other switch for the timer of these metrics. */
const NEVER = 2 ** 31 - 1

/** Registers the usual metrics of a Node.js process: memory, processor time, event loop, garbage collection. */
export function nodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: NEVER })
  for (const name of [...EXPENSIVE, ...WINDOWED]) registry.removeSingleMetric(name)
}
