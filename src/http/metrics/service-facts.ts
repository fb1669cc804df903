import type { StoreBytes } from '../../upkeep.ts'
import type { Metrics } from './metrics.ts'

export interface ServiceFacts {
  readonly version: string
  readonly engine: string
  /** Undefined where a database keeps the files of the store. */
  readonly bytes: (() => StoreBytes) | undefined
}

/** Registers the metrics of the program's version and of the size of its store. */
export function observeFacts(metrics: Metrics, { version, engine, bytes }: ServiceFacts): void {
  metrics.series('plantstore_build_info', () => [[{ version, node: process.versions.node, engine }, 1]])
  if (bytes === undefined) return
  metrics.value('plantstore_store_bytes', () => bytes().store)
  metrics.value('plantstore_store_log_bytes', () => bytes().log)
}
