import type { CasesOf } from './case.ts'

/** Bounds on requests, connections and memory. */
export const BOUND_CASES: CasesOf<
  | 'bodyLimit'
  | 'headerLimit'
  | 'nestingLimit'
  | 'headersTimeout'
  | 'requestTimeout'
  | 'stallTimeout'
  | 'keepAliveTimeout'
  | 'drainWindow'
  | 'unreadLimit'
  | 'compressionLimit'
  | 'pipelineLimit'
  | 'bodyMemory'
  | 'maxConnections'
  | 'maxAddressConnections'
  | 'descriptorReserve'
  | 'maxWaiting'
  | 'maxDelay'
  | 'maxMemory'
  | 'rateLimit'
  | 'authFailureLimit'
> = {
  bodyLimit: {
    right: [
      ['1KiB', 1024],
      ['2048', 2048],
    ],
    wrong: ['', '0', '1KB', '1GiB', '1.5MiB', '-1', '513MiB'],
  },
  headerLimit: {
    right: [
      ['32KiB', 32768],
      ['8192B', 8192],
    ],
    wrong: ['', '0B', 'big', '16 KiB'],
  },
  nestingLimit: {
    right: [
      ['1', 1],
      ['1000', 1000],
    ],
    wrong: ['', '0', '1001', 'deep'],
  },
  headersTimeout: {
    right: [
      ['500ms', 500],
      ['0s', 0],
    ],
    wrong: ['', '5', '5h', '-1s', '61m', '1.5s'],
  },
  requestTimeout: {
    right: [
      ['1m', 60_000],
      ['15s', 15_000],
    ],
    wrong: ['', '30', 'never', '61m'],
  },
  stallTimeout: {
    right: [
      ['5s', 5000],
      ['0ms', 0],
    ],
    wrong: ['', '5 s', '5S'],
  },
  keepAliveTimeout: {
    right: [
      ['5s', 5000],
      ['0ms', 0],
    ],
    wrong: ['', '5 s', '5S'],
  },
  drainWindow: {
    right: [
      ['0s', 0],
      ['10s', 10_000],
    ],
    wrong: ['', '1', 'long'],
  },
  unreadLimit: {
    right: [
      ['1MiB', 2 ** 20],
      ['1', 1],
    ],
    wrong: ['0', '1GB', 'off'],
  },
  compressionLimit: {
    right: [
      ['1MiB', 2 ** 20],
      ['1', 1],
    ],
    wrong: ['0', '1GB', 'off'],
  },
  pipelineLimit: {
    right: [
      ['64KiB', 65_536],
      ['1MiB', 2 ** 20],
    ],
    wrong: ['0', 'all'],
  },
  bodyMemory: {
    right: [
      ['64KiB', 65_536],
      ['1', 1],
    ],
    wrong: ['0', 'all', '1GB'],
  },
  maxConnections: {
    right: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    wrong: ['0', '1000001', 'off', '1.5'],
  },
  maxAddressConnections: {
    right: [
      ['250', 250],
      ['1', 1],
    ],
    wrong: ['0', '-3', 'off'],
  },
  descriptorReserve: {
    right: [
      ['64', 64],
      ['1000', 1000],
    ],
    wrong: ['', '63', '1000001', 'half', '-256'],
  },
  maxWaiting: {
    right: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    wrong: ['', '0', '1000001', '1e3'],
  },
  maxDelay: {
    right: [
      ['100ms', 100],
      ['5s', 5000],
    ],
    wrong: ['99ms', '0s', '5', '2h', '', 'off'],
  },
  maxMemory: {
    right: [
      ['1MiB', 2 ** 20],
      ['4GiB', 2 ** 32],
      ['1024GiB', 2 ** 40],
    ],
    wrong: ['0MiB', '1025GiB', '512', '1KiB', '4gib', '-1GiB', '1.5GiB', 'off'],
  },
  rateLimit: {
    right: [
      ['100', 100],
      ['off', undefined],
    ],
    wrong: ['', '0', 'OFF', '-5'],
  },
  authFailureLimit: {
    right: [
      ['5', 5],
      ['off', undefined],
    ],
    wrong: ['', '0', 'none'],
  },
}
