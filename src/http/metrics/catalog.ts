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

const metric =
  <Type extends MetricInfo['type']>(type: Type) =>
  (help: string, more: Pick<MetricInfo, 'labels' | 'only'> = {}) => ({ type, help, ...more })
const counter = metric('counter')
const gauge = metric('gauge')
const histogram = metric('histogram')

/**
 * Every metric of the service besides those of Node.js. The program registers no other names, and `npm run generate`
 * writes docs/reference/metrics.md from this list.
 */
export const METRICS = {
  plantstore_build_info: gauge(
    'Always 1. The labels name the versions of the program and of Node.js, and the engine of the store.',
    { labels: { version: 'of the program', node: 'of its Node.js', engine: 'sqlite or postgres' } },
  ),
  plantstore_http_requests_total: counter(
    'Requests answered. Status 499: the client left before the end of its answer.',
    { labels: { operation: OPERATION, status: 'of the answer' } },
  ),
  plantstore_http_request_seconds: histogram('Time from the end of the headers to the answer, in seconds.', {
    labels: { operation: OPERATION },
  }),
  plantstore_refusals_total: counter('Refusals by their error number, answers that were cut off included.', {
    labels: { error: 'a number of the [errors](errors.md)' },
  }),
  plantstore_creates_waiting: gauge('Creates and changes of single plants that wait for their commit.'),
  plantstore_commit_rows: histogram('Writes that share one commit.', { labels: { work: COMMIT } }),
  plantstore_commit_seconds: histogram(
    'Time from handing a group of writes to the store until its commit, in seconds.',
    { labels: { work: COMMIT } },
  ),
  plantstore_commit_failures_total: counter('Groups of writes that the store failed to commit.', {
    labels: { work: COMMIT },
  }),
  plantstore_plants: gauge(
    'Plants in the store, counted in the background at most once a minute; NaN before the first count.',
  ),
  plantstore_store_bytes: gauge("Bytes of the store's file.", { only: SQLITE }),
  plantstore_store_log_bytes: gauge('Bytes of the log of SQLite (-wal).', { only: SQLITE }),
  plantstore_search_index_behind: gauge('Changes that the search index lacks, or plants while it is made anew.', {
    only: SQLITE,
  }),
  plantstore_store_connections: gauge('Connections to the store in use.', { labels: { work: POOL }, only: POSTGRES }),
  plantstore_store_connections_limit: gauge('Connections to the store that may be in use.', {
    labels: { work: POOL },
    only: POSTGRES,
  }),
  plantstore_store_connections_waiting: gauge('Work that waits for a connection.', {
    labels: { work: POOL },
    only: POSTGRES,
  }),
  plantstore_shed_total: counter('Requests refused because too many came at once or because memory was short.', {
    labels: { reason: 'delay or memory' },
  }),
  plantstore_bound_used: gauge('Use of a bound that all clients share.', { labels: { bound: BOUND } }),
  plantstore_bound_limit: gauge('Limit of a bound that all clients share.', { labels: { bound: BOUND } }),
  plantstore_bound_refused_total: counter(
    'Requests, connections, answers or lines that a bound refused, cut off, dropped, or left uncompressed.',
    { labels: { bound: BOUND } },
  ),
  plantstore_changes: gauge('Entries in the log of changes.', { only: CHANGES }),
  plantstore_changes_bytes: gauge('Bytes of the log of changes, estimated.', { only: CHANGES }),
  plantstore_changes_age_seconds: gauge('Age of the oldest entry of the log of changes.', { only: CHANGES }),
  plantstore_change_streams: gauge('Open streams of changes.', { only: CHANGES }),
  plantstore_change_events_total: counter('Entries sent by streams of changes.', { only: CHANGES }),
  plantstore_change_streams_lag_seconds: gauge(
    'Time since the slowest stream last had all entries; 0 while all have them.',
    { only: CHANGES },
  ),
  plantstore_backup_newest_timestamp_seconds: gauge(
    'When the newest scheduled backup was made, in seconds since 1970; 0 when there is none.',
    { only: '`--backup-every`' },
  ),
  plantstore_backup_failures_total: counter('Scheduled backups that failed.', { only: '`--backup-every`' }),
  plantstore_backup_hook_failures_total: counter('Runs of the backup hook that failed.', { only: '`--backup-hook`' }),
  plantstore_tls_certificate_expiry_seconds: gauge('Seconds until the certificate expires; negative after that.', {
    only: '`--tls-cert`',
  }),
  plantstore_tls_certificate_failures_total: counter(
    'Times that the files of the certificate could not be read again, or did not fit each other.',
    { only: '`--tls-cert`' },
  ),
  plantstore_webhooks: gauge('Webhooks by their state.', { labels: { state: 'active, paused or failed' } }),
  plantstore_webhook_pending: gauge('Events that wait for a webhook; 1000 stands for that many or more.', {
    labels: { webhook: 'the id of a webhook' },
  }),
  plantstore_webhook_oldest_seconds: gauge(
    'Age of the first event that waits for a webhook, in seconds; 0 when none waits.',
    { labels: { webhook: 'the id of a webhook' } },
  ),
  plantstore_webhook_attempts_total: counter('Attempts to deliver an event.', {
    labels: { outcome: 'delivered, refused by a status, or unanswered' },
  }),
} satisfies Readonly<Record<string, MetricInfo>>

export type MetricName = keyof typeof METRICS
export type MetricOf<T extends MetricInfo['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends T ? Name : never
}[MetricName]

/** The bounds that all clients share and whose use the metrics show, by their settings. */
export const BOUNDS = {
  maxConnections: 'client connections',
  pipelineLimit: 'bytes of pipelined requests in the queue',
  unreadLimit: 'bytes of unread answers',
  compressionLimit: 'bytes of answers that are being compressed',
  logBuffer: 'bytes of log lines that wait for their reader',
  auditBuffer: 'bytes of audit lines that are not written yet',
  maxWaiting: 'queued creates, or changes, whichever are more',
  maxMemory: 'bytes of the heap and of buffers',
  heap: "bytes of the heap; the bound is 85% of V8's limit",
  webhookRequests: 'requests to receivers of webhooks',
  maxSearches: 'searches in progress',
  searchQueue: 'queued searches',
  maxExports: 'exports in progress',
  maxStreams: 'streams of changes',
  maxImports: 'imports in progress',
  maxDryRuns: 'dry runs in progress',
  changes: 'changes of tokens and reservations of ids in progress',
  changeQueue: 'queued changes of tokens and reservations of ids',
  storeConnections: 'connections to a PostgreSQL store',
} as const

export type BoundName = keyof typeof BOUNDS
