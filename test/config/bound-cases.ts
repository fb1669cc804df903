import type { CasesOf } from './case.ts'

/** Bounds on requests, connections and memory. */
export const BOUND_CASES: CasesOf<
  | 'bodyLimit'
  | 'requestTimeout'
  | 'stallTimeout'
  | 'keepAliveTimeout'
  | 'drainWindow'
  | 'maxConnections'
  | 'maxAddressConnections'
  | 'rateLimit'
> = {
  bodyLimit: {
    right: [
      ['1KiB', 1024],
      ['2048', 2048],
    ],
    wrong: ['', '0', '1KB', '1GiB', '1.5MiB', '-1', '513MiB'],
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
  rateLimit: {
    right: [
      ['100', 100],
      ['off', undefined],
    ],
    wrong: ['', '0', 'OFF', '-5'],
  },
}
