/** A metric of Prometheus (https://prometheus.io/docs/practices/naming/). */
export interface MetricInfo {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The values of each label, in words. All of them come from the program, and none from a client. */
  readonly labels?: Readonly<Record<string, string>>
  /** The engine or feature that has the metric; undefined: every service has it. */
  readonly only?: string
}

const WORK = 'search, export, import, dryRun, patch or change (of tokens, and reservations of ids)'
const OPERATION = 'an operationId of the contract, or `none`'
const COMMIT = 'create, change or import'
const POOL = 'all, search, import or long'
const BOUND = 'the flag of the bound, see below'
const SQLITE = 'SQLite'
const POSTGRES = 'PostgreSQL'

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
  plantstore_work_running: { type: 'gauge', help: 'Long work in progress.', labels: { work: WORK } },
  plantstore_work_waiting: {
    type: 'gauge',
    help: 'Queued work.',
    labels: { work: 'search, patch or change (of tokens, and reservations of ids)' },
  },
  plantstore_work_refused_total: {
    type: 'counter',
    help: 'Work refused by the limit of its token or by the limit of all clients.',
    labels: { work: WORK, bound: 'token or all' },
  },
  plantstore_shed_total: {
    type: 'counter',
    help: 'Requests refused because too many came at once or because memory was short.',
    labels: { reason: 'delay or memory' },
  },
  plantstore_connections: { type: 'gauge', help: 'Open client connections.' },
  plantstore_connections_limit: {
    type: 'gauge',
    help: 'Client connections that may be open, which leave a reserve of open files.',
  },
  plantstore_connections_refused_total: {
    type: 'counter',
    help: 'Connections refused because too many were open or too many requests were queued.',
  },
  plantstore_connections_evicted_total: { type: 'counter', help: 'Idle connections closed to make room for new ones.' },
  plantstore_pipelined_bytes: { type: 'gauge', help: 'Memory for pipelined requests in the queue.' },
  plantstore_body_bytes: {
    type: 'gauge',
    help: 'Memory for bodies of requests that are not answered yet. Bodies up to 4 KiB do not count.',
  },
  plantstore_bodies_refused_total: {
    type: 'counter',
    help: 'Requests refused because bodies took too much memory.',
  },
  plantstore_unread_answer_bytes: { type: 'gauge', help: 'Bytes of answers that clients have not read yet.' },
  plantstore_answers_cut_total: { type: 'counter', help: 'Answers cut off because their clients read too slowly.' },
  plantstore_compressing_bytes: { type: 'gauge', help: 'Bytes of answers that are being compressed.' },
  plantstore_answers_uncompressed_total: {
    type: 'counter',
    help: 'Answers sent uncompressed because too many were being compressed.',
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
  plantstore_log_lines_dropped_total: {
    type: 'counter',
    help: 'Log lines dropped because their reader was too slow or gone.',
  },
  plantstore_audit_lines_dropped_total: {
    type: 'counter',
    help: 'Lines of the audit log dropped because they could not be written in time.',
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
  maxSearches: 'searches in progress',
  searchQueue: 'queued searches',
  maxExports: 'exports in progress',
  maxImports: 'imports in progress',
  maxDryRuns: 'dry runs in progress',
  maxPatches: 'PATCH requests in progress',
  changeQueue: 'queued changes of tokens and reservations of ids',
  storeConnections: 'connections to a PostgreSQL store',
} as const

export type BoundName = keyof typeof BOUNDS
