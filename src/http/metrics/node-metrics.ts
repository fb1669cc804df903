import { collectDefaultMetrics, type Registry } from '@prometheus-io/client'

/**
 * They list every open connection for each scrape, which takes the longer the more clients there are.
 * `plantstore_connections` and `process_open_fds` tell what matters of it.
 */
const EXPENSIVE = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
]

/** Adds what every Node.js process tells: memory, processor time, event loop, garbage collection. */
export function nodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const name of EXPENSIVE) registry.removeSingleMetric(name)
}
