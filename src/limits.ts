import { duration, integer, memorySize, offOr, type Setting, setting, size, timeout } from './setting.ts'

/** Bounds of the long work of clients. */
export interface WorkLimits {
  readonly maxSearches: number
  readonly maxSearchesPerToken: number
  readonly searchQueue: number
  readonly searchQueuePerToken: number
  readonly maxExports: number
  readonly maxExportsPerToken: number
  readonly maxImports: number
  readonly maxImportsPerToken: number
  readonly maxDryRuns: number
  readonly maxDryRunsPerToken: number
  readonly maxPatches: number
  /** Active tokens. */
  readonly maxTokens: number
  /** Revoked and expired tokens. */
  readonly maxEndedTokens: number
  readonly changeQueue: number
  readonly changeQueuePerToken: number
  /** Milliseconds. */
  readonly searchTimeout: number
  readonly exportTimeout: number
  /** Bytes per second; undefined: no minimum. */
  readonly leastSpeed: number | undefined
}

const count = (flag: string, fallback: string, help: string): Setting<number> =>
  setting(flag, 'COUNT', fallback, help, integer(1, 1e5))

export const WORK_LIMITS: { readonly [K in keyof WorkLimits]-?: Setting<WorkLimits[K]> } = {
  maxSearches: count('max-searches', '8', 'searches that run at once; further ones are queued'),
  maxSearchesPerToken: count('max-searches-per-token', '4', 'searches of one token that run at once'),
  searchQueue: count('search-queue', '1000', 'queued searches; more are answered 503'),
  searchQueuePerToken: count('search-queue-per-token', '100', 'queued searches of one token; more are answered 429'),
  searchTimeout: setting(
    'search-timeout',
    'TIME',
    '10s',
    'deadline of a search, its time in the queue included; then it is answered 503; at least 100ms',
    timeout,
  ),
  maxExports: count('max-exports', '4', 'exports at once; more are answered 503'),
  maxExportsPerToken: count('max-exports-per-token', '2', 'exports of one token at once; more are answered 429'),
  exportTimeout: setting(
    'export-timeout',
    'TIME',
    '30m',
    'deadline of an export, which is then cut off, because the store keeps old versions of changed plants for it; at least 100ms',
    timeout,
  ),
  maxImports: count('max-imports', '8', 'imports at once; more are answered 503'),
  maxImportsPerToken: count('max-imports-per-token', '4', 'imports of one token at once; more are answered 429'),
  maxDryRuns: count('max-dry-runs', '4', 'dry runs of imports at once; more are answered 503'),
  maxDryRunsPerToken: count('max-dry-runs-per-token', '2', 'dry runs of one token at once; more are answered 429'),
  maxPatches: count(
    'max-patches',
    '16',
    'PATCH requests that run at once, as each reads a whole plant; further ones are queued, at most --max-waiting of them',
  ),
  maxTokens: count('max-tokens', '10000', 'active tokens that clients may create; more are answered 409'),
  maxEndedTokens: count(
    'max-ended-tokens',
    '10000',
    'revoked and expired tokens that stay listed; beyond that, a client that creates a token removes those that ended first',
  ),
  changeQueue: count('change-queue', '100', 'queued changes of tokens and reservations of ids; more are answered 503'),
  changeQueuePerToken: count(
    'change-queue-per-token',
    '20',
    'queued changes of tokens and reservations of ids by one token; more are answered 429',
  ),
  leastSpeed: setting(
    'least-speed',
    'SIZE',
    '1KiB',
    'bytes per second that the client of an import or export must send or read on average, or off',
    offOr(size),
  ),
}

/** Bytes that all connections together may make the service keep. */
export interface MemoryLimits {
  readonly unreadLimit: number
  readonly compressionLimit: number
  readonly pipelineLimit: number
  readonly bodyMemory: number
  readonly logBuffer: number
  readonly auditBuffer: number
}

export const MEMORY_LIMITS: { readonly [K in keyof MemoryLimits]-?: Setting<MemoryLimits[K]> } = {
  unreadLimit: setting(
    'unread-limit',
    'SIZE',
    '256MiB',
    'memory for answers that clients have not read yet, in total; beyond it the slowest clients are cut off',
    size,
  ),
  compressionLimit: setting(
    'compression-limit',
    'SIZE',
    '16MiB',
    'memory for answers that are being compressed, in total; more are sent uncompressed',
    size,
  ),
  pipelineLimit: setting(
    'pipeline-limit',
    'SIZE',
    '32MiB',
    'memory for pipelined requests in the queue, in total; more are answered 503',
    size,
  ),
  bodyMemory: setting(
    'body-memory',
    'SIZE',
    '256MiB',
    'memory for bodies over 4 KiB of requests that are not answered yet, in total; more are answered 503; of one token, more than half of it are answered 429',
    size,
  ),
  logBuffer: setting(
    'log-buffer',
    'SIZE',
    '1MiB',
    'memory for log lines that their reader has not taken yet, in characters; further lines are dropped and counted',
    size,
  ),
  auditBuffer: setting(
    'audit-buffer',
    'SIZE',
    '8MiB',
    'memory for lines of the audit log that are not written yet, in characters; further lines are dropped and counted',
    size,
  ),
}

/** Deadlines of connections, in milliseconds, and bounds on their number. */
export interface ConnectionLimits {
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly stallTimeout: number
  readonly maxConnections: number
  readonly maxAddressConnections: number
  /** Open files that connections leave to the store, the log and exports. */
  readonly descriptorReserve: number
  readonly keepAliveTimeout: number
  readonly drainWindow: number
}

export const CONNECTION_LIMITS: { readonly [K in keyof ConnectionLimits]-?: Setting<ConnectionLimits[K]> } = {
  headersTimeout: setting(
    'headers-timeout',
    'TIME',
    '10s',
    'deadline for the headers of a request to arrive; at most the request timeout',
    duration,
  ),
  requestTimeout: setting('request-timeout', 'TIME', '30s', 'deadline for a whole request to arrive', duration),
  stallTimeout: setting(
    'stall-timeout',
    'TIME',
    '30s',
    'how long the client of an import may send nothing, or any client may read nothing of its answer; imports have no request timeout',
    duration,
  ),
  maxConnections: setting(
    'max-connections',
    'COUNT',
    '10000',
    'open client connections, in total; fewer where the process may open fewer files',
    integer(1, 1e6),
  ),
  maxAddressConnections: setting(
    'max-address-connections',
    'COUNT',
    '1000',
    'open connections of one address, or one IPv6 /64 network; those of trusted proxies do not count',
    integer(1, 1e6),
  ),
  descriptorReserve: setting(
    'descriptor-reserve',
    'COUNT',
    '256',
    'open files that connections leave to the store, its log and exports, out of those that the process may open; at most half of them',
    integer(64, 1e6),
  ),
  keepAliveTimeout: setting(
    'keep-alive-timeout',
    'TIME',
    '65s',
    'how long a connection may be idle before the service closes it',
    duration,
  ),
  drainWindow: setting(
    'drain-window',
    'TIME',
    '1s',
    'how long to keep answering after the signal to stop, while a client is connected',
    duration,
  ),
}

/** Bounds of the load, beyond which the service refuses requests. */
export interface LoadLimits {
  readonly maxWaiting: number
  /** Milliseconds that requests may keep others waiting. */
  readonly maxDelay: number
  /** Bytes of the heap and of buffers; undefined: two thirds of the memory of the machine or the container. */
  readonly maxMemory: number | undefined
}

export const LOAD_LIMITS: { readonly [K in keyof LoadLimits]-?: Setting<LoadLimits[K]> } = {
  maxWaiting: setting(
    'max-waiting',
    'COUNT',
    '10000',
    'creates that may be queued for the store; more are answered 503',
    integer(1, 1e6),
  ),
  maxDelay: setting(
    'max-delay',
    'TIME',
    '5s',
    'how long requests may keep others waiting: for queued reads of a SQLite store, for queued writes of more than one commit, and for a fifth of it in one turn of the event loop; more are answered 503; at least 100ms',
    timeout,
  ),
  maxMemory: {
    flag: 'max-memory',
    value: 'SIZE',
    fallback: undefined,
    help: 'memory for the heap and for buffers beyond which requests are answered 503, at most 1024GiB (default two thirds of the memory of the machine or the container)',
    parse: memorySize,
  },
}
