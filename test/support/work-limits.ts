import type { WorkLimits } from '../../src/limits.ts'

interface Cases<T> {
  readonly right: readonly [string, T][]
  readonly wrong: readonly string[]
}

const COUNT: Cases<number> = {
  right: [
    ['1', 1],
    ['100000', 100_000],
  ],
  wrong: ['', '0', '100001', '-1', '1.5', 'off'],
}

const TIME: Cases<number> = {
  right: [
    ['100ms', 100],
    ['60m', 3_600_000],
  ],
  wrong: ['', '99ms', '0s', '61m', '10', 'off'],
}

/** For each setting of src/limits.ts: two valid texts with their values, and some invalid texts. */
export const WORK_LIMIT_CASES: { readonly [K in keyof WorkLimits]: Cases<WorkLimits[K]> } = {
  maxSearches: COUNT,
  maxSearchesPerToken: COUNT,
  searchQueue: COUNT,
  searchQueuePerToken: COUNT,
  searchTimeout: TIME,
  maxExports: COUNT,
  maxExportsPerToken: COUNT,
  exportTimeout: TIME,
  maxImports: COUNT,
  maxImportsPerToken: COUNT,
  maxDryRuns: COUNT,
  maxDryRunsPerToken: COUNT,
  maxPatches: COUNT,
  maxTokens: COUNT,
  maxEndedTokens: COUNT,
  changeQueue: COUNT,
  changeQueuePerToken: COUNT,
  leastSpeed: {
    right: [
      ['1', 1],
      ['off', undefined],
    ],
    wrong: ['', '0', '-1KiB', '4kb', 'none'],
  },
}

export const WORK_LIMIT_DEFAULTS: WorkLimits = {
  maxSearches: 8,
  maxSearchesPerToken: 4,
  searchQueue: 1000,
  searchQueuePerToken: 100,
  searchTimeout: 10_000,
  maxExports: 4,
  maxExportsPerToken: 2,
  exportTimeout: 1_800_000,
  maxImports: 8,
  maxImportsPerToken: 4,
  maxDryRuns: 4,
  maxDryRunsPerToken: 2,
  maxPatches: 16,
  maxTokens: 10_000,
  maxEndedTokens: 10_000,
  changeQueue: 100,
  changeQueuePerToken: 20,
  leastSpeed: 1024,
}
