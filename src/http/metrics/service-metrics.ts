import type { BoundUse } from '../../base/counts.ts'
import type { WriteStats } from '../../base/group-commit.ts'
import type { Store, StorePool } from '../../domain/store.ts'
import type { BackupsMade, StoreBytes } from '../../domain/upkeep.ts'
import type { WebhookDelivery, WebhookState } from '../../domain/webhook.ts'
import type { Config } from '../../settings/config.ts'
import { inBackground, Metrics, type Series } from './metrics.ts'

/** A store with what the metrics show of it. An engine lacks what it has no part for. */
export interface ServedStore extends Store {
  readonly writes: WriteStats
  /** Changes that the search index lacks, or plants while it is made anew; NaN until it is known. */
  readonly indexBehind?: number
}

interface ServiceFacts {
  readonly version: string
  readonly engine: string
  /** Undefined where a database keeps the files of the store. */
  readonly bytes: (() => StoreBytes) | undefined
}

export interface ServedCertificate {
  readonly expiresAt: Date
  readonly failures: number
}

export interface ObservedParts {
  readonly config: Config
  readonly store: ServedStore
  readonly logLines?: { readonly bound: BoundUse }
  readonly auditLines?: { readonly bound: BoundUse }
  /** The results of scheduled backups; undefined without a schedule. */
  readonly backups?: BackupsMade | undefined
  /** Undefined: the service has no TLS. */
  readonly certificate?: ServedCertificate | undefined
  readonly facts?: ServiceFacts | undefined
  /** Delivers to webhooks; undefined without a log of changes. */
  readonly delivery?: WebhookDelivery | undefined
}

/** Registers the metrics of all parts but the HTTP side, which adds its own to the result. */
export function serviceMetrics(parts: ObservedParts): Metrics {
  const { store, logLines, auditLines, backups, certificate, delivery, facts } = parts
  const metrics = new Metrics()
  observeWrites(metrics, store.writes)
  metrics.value('plantstore_plants', plantCount(store))
  if (store.indexBehind !== undefined) metrics.value('plantstore_search_index_behind', () => store.indexBehind ?? 0)
  if (store.pool !== undefined) observePool(metrics, store.pool)
  if (delivery !== undefined) observeWebhooks(metrics, delivery)
  if (backups !== undefined) {
    metrics.value('plantstore_backup_newest_timestamp_seconds', () => backups.newest)
    metrics.value('plantstore_backup_failures_total', () => backups.failures)
    if (backups.hookFailures !== undefined) {
      metrics.value('plantstore_backup_hook_failures_total', () => backups.hookFailures ?? 0)
    }
  }
  if (certificate !== undefined) {
    const left = () => (certificate.expiresAt.getTime() - Date.now()) / 1000
    metrics.value('plantstore_tls_certificate_expiry_seconds', left)
    metrics.value('plantstore_tls_certificate_failures_total', () => certificate.failures)
  }
  if (facts !== undefined) {
    const { version, engine, bytes } = facts
    metrics.series('plantstore_build_info', () => [[{ version, node: process.versions.node, engine }, 1]])
    if (bytes !== undefined) metrics.value('plantstore_store_bytes', () => bytes().store)
    if (bytes !== undefined) metrics.value('plantstore_store_log_bytes', () => bytes().log)
  }
  if (logLines !== undefined) metrics.bounds(() => ({ logBuffer: logLines.bound }))
  if (auditLines !== undefined) metrics.bounds(() => ({ auditBuffer: auditLines.bound }))
  return metrics
}

/** Reads the same of each part, under the name of the part as a label. */
const each = <Part, Value>(
  label: string,
  parts: Iterable<readonly [string, Part]>,
  read: (part: Part) => Value,
): Series<Value> => Array.from(parts, ([name, part]) => [{ [label]: name }, read(part)] as const)

/** Registers the metrics of groups of writes, of their commits, and of waiting writes. */
function observeWrites(metrics: Metrics, { commits, queues: [creates, changes] }: WriteStats): void {
  const works = Object.entries(commits)
  metrics.histogram('plantstore_commit_rows', 1, () => each('work', works, ({ rows }) => rows))
  metrics.histogram('plantstore_commit_seconds', 1000, () => each('work', works, (stats) => stats.milliseconds))
  metrics.series('plantstore_commit_failures_total', () => each('work', works, ({ failures }) => failures))
  metrics.value('plantstore_creates_waiting', () => creates.rows.used + changes.rows.used)
  metrics.bounds(() => ({ maxWaiting: fuller(creates.rows, changes.rows) }))
}

const fuller = (one: BoundUse, two: BoundUse): BoundUse => ({
  max: one.max,
  used: Math.max(one.used, two.used),
  refused: (one.refused ?? 0) + (two.refused ?? 0),
})

function observePool(metrics: Metrics, { uses }: StorePool): void {
  const works = () => Object.entries(uses)
  metrics.series('plantstore_store_connections', () => each('work', works(), ({ used }) => used))
  metrics.series('plantstore_store_connections_limit', () => each('work', works(), ({ max }) => max))
  metrics.series('plantstore_store_connections_waiting', () => each('work', works(), ({ waiting }) => waiting))
  metrics.bounds(() => ({ storeConnections: uses.all }))
}

/** Registers the metrics of webhooks. Alert when one has failed, or when its oldest event is old. */
function observeWebhooks(metrics: Metrics, delivery: WebhookDelivery): void {
  const count = (state: WebhookState) => delivery.webhooks.filter((webhook) => webhook.state === state).length
  const age = (since = Date.now()) => (Date.now() - since) / 1000
  metrics.series('plantstore_webhooks', () =>
    (['active', 'paused', 'failed'] as const).map((state) => [{ state }, count(state)]),
  )
  metrics.series('plantstore_webhook_pending', () => each('webhook', delivery.backlogs(), ({ pending }) => pending))
  metrics.series('plantstore_webhook_oldest_seconds', () =>
    each('webhook', delivery.backlogs(), ({ oldest }) => age(oldest)),
  )
  metrics.series('plantstore_webhook_attempts_total', () =>
    each('outcome', Object.entries(delivery.outcomes), (attempts) => attempts),
  )
  metrics.bounds(() => ({ webhookRequests: delivery.requests }))
}

/** Milliseconds between a count of all plants and the next one, at the least: a count reads the whole table. */
const COUNT_PAUSE = 60_000

export const plantCount = (store: Pick<Store, 'countPlants'>): (() => number) =>
  inBackground(() => store.countPlants(), Number.NaN, COUNT_PAUSE)
