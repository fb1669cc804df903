/** A metric of Prometheus (https://prometheus.io/docs/practices/naming/). */
export interface MetricInfo {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The values of each label, in words. All of them come from the program, and none from a client. */
  readonly labels?: Readonly<Record<string, string>>
  /** The engine or feature that has the metric; undefined: every service has it. */
  readonly only?: string
}

const OPERATION = 'an operationId of the contract, or `none`'
const COMMIT = 'create, change or import'
const POOL = 'all, search, import or long'
const BOUND = 'the flag of the bound, see below'
const SQLITE = 'SQLite'
const POSTGRES = 'PostgreSQL'
const CHANGES = '`--changes-keep` above 0s'

/**
 * Every metric of the service besides those of Node.js. The program registers no other names, and `npm run generate`
 * writes docs/reference/metrics.md from this list.
 */
export const METRICS = {
  plantstore_build_info: {
    type: 'gauge',
    help: 'Always 1. The labels name the versions of the program and of Node.js, and the engine of the store.',
    labels: { version: 'of the program', node: 'of its Node.js', engine: 'sqlite or postgres' },
  },
  plantstore_http_requests_total: {
    type: 'counter',
    help: 'Requests answered. Status 499: the client left before the end of its answer.',
    labels: { operation: OPERATION, status: 'of the answer' },
  },
  plantstore_http_request_seconds: {
    type: 'histogram',
    help: 'Time from the end of the headers to the answer, in seconds.',
    labels: { operation: OPERATION },
  },
  plantstore_refusals_total: {
    type: 'counter',
    help: 'Refusals by their error number, answers that were cut off included.',
    labels: { error: 'a number of the [errors](errors.md)' },
  },
  plantstore_creates_waiting: {
    type: 'gauge',
    help: 'Creates and changes of single plants that wait for their commit.',
  },
  plantstore_commit_rows: {
    type: 'histogram',
    help: 'Writes that share one commit.',
    labels: { work: COMMIT },
  },
  plantstore_commit_seconds: {
    type: 'histogram',
    help: 'Time from handing a group of writes to the store until its commit, in seconds.',
    labels: { work: COMMIT },
  },
  plantstore_commit_failures_total: {
    type: 'counter',
    help: 'Groups of writes that the store failed to commit.',
    labels: { work: COMMIT },
  },
  plantstore_plants: {
    type: 'gauge',
    help: 'Plants in the store, counted in the background at most once a minute; NaN before the first count.',
  },
  plantstore_store_bytes: { type: 'gauge', help: "Bytes of the store's file.", only: SQLITE },
  plantstore_store_log_bytes: { type: 'gauge', help: 'Bytes of the log of SQLite (-wal).', only: SQLITE },
  plantstore_search_index_behind: { type: 'gauge', help: 'Changes that the search index lacks.', only: SQLITE },
  plantstore_store_connections: {
    type: 'gauge',
    help: 'Connections to the store in use.',
    labels: { work: POOL },
    only: POSTGRES,
  },
  plantstore_store_connections_limit: {
    type: 'gauge',
    help: 'Connections to the store that may be in use.',
    labels: { work: POOL },
    only: POSTGRES,
  },
  plantstore_store_connections_waiting: {
    type: 'gauge',
    help: 'Work that waits for a connection.',
    labels: { work: POOL },
    only: POSTGRES,
  },
  plantstore_shards: { type: 'gauge', help: 'Shards of the store; 0 if it is not sharded.', only: POSTGRES },
  plantstore_shards_out_of_reach: { type: 'gauge', help: 'Shards that do not take requests.', only: POSTGRES },
  plantstore_shed_total: {
    type: 'counter',
    help: 'Requests refused because too many came at once or because memory was short.',
    labels: { reason: 'delay or memory' },
  },
  plantstore_bound_used: {
    type: 'gauge',
    help: 'Use of a bound that all clients share.',
    labels: { bound: BOUND },
  },
  plantstore_bound_limit: {
    type: 'gauge',
    help: 'Limit of a bound that all clients share.',
    labels: { bound: BOUND },
  },
  plantstore_bound_refused_total: {
    type: 'counter',
    help: 'Requests, connections, answers or lines that a bound refused, cut off, dropped, or left uncompressed.',
    labels: { bound: BOUND },
  },
  plantstore_changes: { type: 'gauge', help: 'Entries in the log of changes.', only: CHANGES },
  plantstore_changes_bytes: { type: 'gauge', help: 'Bytes of the log of changes, estimated.', only: CHANGES },
  plantstore_changes_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest entry of the log of changes.',
    only: CHANGES,
  },
  plantstore_change_streams: { type: 'gauge', help: 'Open streams of changes.', only: CHANGES },
  plantstore_change_events_total: { type: 'counter', help: 'Entries sent by streams of changes.', only: CHANGES },
  plantstore_change_streams_lag_seconds: {
    type: 'gauge',
    help: 'Time since the slowest stream last had all entries; 0 while all have them.',
    only: CHANGES,
  },
  plantstore_backup_newest_timestamp_seconds: {
    type: 'gauge',
    help: 'When the newest scheduled backup was made, in seconds since 1970; 0 when there is none.',
    only: '`--backup-every`',
  },
  plantstore_backup_failures_total: {
    type: 'counter',
    help: 'Scheduled backups that failed.',
    only: '`--backup-every`',
  },
  plantstore_tls_certificate_expiry_seconds: {
    type: 'gauge',
    help: 'Seconds until the certificate expires; negative after that.',
    only: '`--tls-cert`',
  },
  plantstore_tls_certificate_failures_total: {
    type: 'counter',
    help: 'Times that the files of the certificate could not be read again, or did not fit each other.',
    only: '`--tls-cert`',
  },
  plantstore_webhooks: {
    type: 'gauge',
    help: 'Webhooks by their state.',
    labels: { state: 'active, paused or failed' },
  },
  plantstore_webhook_pending: {
    type: 'gauge',
    help: 'Events that wait for a webhook; 1000 stands for that many or more.',
    labels: { webhook: 'the id of a webhook' },
  },
  plantstore_webhook_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the first event that waits for a webhook, in seconds; 0 when none waits.',
    labels: { webhook: 'the id of a webhook' },
  },
  plantstore_webhook_attempts_total: {
    type: 'counter',
    help: 'Attempts to deliver an event.',
    labels: { outcome: 'delivered, refused by a status, or unanswered' },
  },
} as const satisfies Readonly<Record<string, MetricInfo>>

export type MetricName = keyof typeof METRICS
export type MetricOf<T extends MetricInfo['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends T ? Name : never
}[MetricName]

/** The bounds that all clients share and whose use the metrics show, by their settings. */
export const BOUNDS = {
  maxConnections: 'client connections',
  pipelineLimit: 'bytes of pipelined requests in the queue',
  bodyMemory: 'bytes of bodies over 4 KiB',
  unreadLimit: 'bytes of unread answers',
  compressionLimit: 'bytes of answers that are being compressed',
  logBuffer: 'bytes of log lines that wait for their reader',
  auditBuffer: 'bytes of audit lines that are not written yet',
  maxWaiting: 'queued creates, or changes, whichever are more',
  queuedText: 'UTF-16 units of the names and tags of queued creates, or changes, whichever are more; no setting',
  maxMemory: 'bytes of the heap and of buffers',
  heap: "bytes of the heap; the bound is 85% of V8's limit",
  webhookRequests: 'requests to receivers of webhooks',
  webhookBodies: 'bytes of bodies for receivers of webhooks',
  maxSearches: 'searches in progress',
  searchQueue: 'queued searches',
  maxExports: 'exports in progress',
  maxStreams: 'streams of changes',
  maxImports: 'imports in progress',
  maxDryRuns: 'dry runs in progress',
  maxPatches: 'PATCH requests in progress',
  patchQueue: 'queued PATCH requests',
  changes: 'changes of tokens and reservations of ids in progress',
  changeQueue: 'queued changes of tokens and reservations of ids',
  storeConnections: 'connections to a PostgreSQL store',
} as const

export type BoundName = keyof typeof BOUNDS
