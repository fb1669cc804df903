/** Bounds that are no settings, each with its reason. Times are milliseconds. */
export const LIMITS = {
  /** Bytes of the request line and the headers together. */
  // The default of Node.js; a bearer token and a query of 500 characters need a tenth.
  headerLimit: 16 * 2 ** 10,
  /** Bytes of pipelined requests that wait, in total. 64 KiB of 512 connections; more waits in their sockets. */
  pipelineLimit: 32 * 2 ** 20,
  /** Bytes of answers that clients have not read yet, in total. 37 pages of a thousand of the largest plants. */
  unreadLimit: 256 * 2 ** 20,
  /** Bytes of answers that are being compressed, in total; more are sent uncompressed. */
  // Compressing takes about as much again; an answer beyond it is only larger.
  compressionLimit: 16 * 2 ** 20,
  /** Bytes of log lines that their reader has not taken yet. Thousands of lines, while the reader of a pipe is busy. */
  logBuffer: 2 ** 20,
  /** Bytes of lines of the audit log that are not written yet. */
  // Eight times as much: a line of the audit log is worth more than one of the log.
  auditBuffer: 8 * 2 ** 20,
  /** Open files that connections leave to the store, its log and exports. */
  // The store, its log, its index, their readers, a backup and each export need a few each.
  descriptorReserve: 256,
  /** Bytes per second that a client must send of an import, or read of its answer, on average. */
  // A slower client would hold one of the few places of imports and exports for hours.
  leastSpeed: 2 ** 10,
  /** Failed authentications per minute and address; undefined: no limit. */
  // A person mistypes a token a few times; a guesser needs 2^256 attempts.
  authFailureLimit: 60 as number | undefined,
  /** Requests without a token per minute and address, where the service has a public view. */
  // A class of thirty behind one address, each of whom looks at ten plants in a minute, sends 900.
  publicLimit: 1200,
  /** Creates that may be queued for the store. Ten groups of the largest size; more would only wait longer. */
  maxWaiting: 10_000,
  /** Milliseconds that requests may keep others waiting. Clients give up, and send again, after ten seconds or more. */
  maxDelay: 5000,
  /** Bytes of the heap and of buffers; undefined: two thirds of the memory of the machine or the container. */
  maxMemory: undefined as number | undefined,
  /** What eight searches at once answer within the deadline of a search, and a tenth of it for one token. */
  searchQueue: 1000,
  searchQueuePerToken: 100,
  /** Milliseconds. A snapshot keeps old versions of changed plants for as long. */
  exportTimeout: 30 * 60_000,
  /** Streams of changes that are open at once. A hundred programs, of which one may run on ten machines. */
  maxStreams: 100,
  maxStreamsPerToken: 10,
  /** Active tokens that clients may create. */
  // A hundred times what a large garden's apps and people need; GET /tokens lists them all in ten pages.
  maxTokens: 10_000,
  /** Revoked and expired tokens that stay listed. */
  maxEndedTokens: 10_000,
  /** Queued changes of tokens and reservations of ids. */
  // Each takes a commit of its own, so a hundred wait for a second on a slow disk.
  changeQueue: 100,
  changeQueuePerToken: 20,
}

/** Tests make them smaller. */
export type Limits = { readonly [Name in keyof typeof LIMITS]: (typeof LIMITS)[Name] }
