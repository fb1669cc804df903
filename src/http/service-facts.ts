import { Gauge } from '@prometheus-io/client'
import type { StoreBytes } from '../upkeep.ts'
import type { Metrics } from './metrics.ts'

export interface ServiceFacts {
  readonly version: string
  readonly engine: string
  /** The sizes of the files; undefined where a database keeps them. */
  readonly bytes: (() => StoreBytes) | undefined
}

/** Shows in the metrics the versions of the program, and the size of its store. */
export function observeFacts(metrics: Metrics, { version, engine, bytes }: ServiceFacts): void {
  const info = new Gauge({
    name: 'plantstore_build_info',
    help: 'Always 1; its labels tell the program, its Node.js and the engine of its store.',
    labelNames: ['version', 'node', 'engine'],
    registers: [metrics.registry],
  })
  info.set({ version, node: process.versions.node, engine }, 1)
  if (bytes === undefined) return
  metrics.gauge('plantstore_store_bytes', "Bytes of the store's file.", () => bytes().store)
  metrics.gauge('plantstore_store_log_bytes', 'Bytes of the log of SQLite (-wal).', () => bytes().log)
}
