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

/** Registers the usual metrics of a Node.js process: memory, processor time, event loop, garbage collection. */
export function nodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const name of EXPENSIVE) registry.removeSingleMetric(name)
}
