import type { WorkLimits } from '../../src/limits.ts'
import type { Case, CasesOf } from './case.ts'

const COUNT: Case<number> = {
  right: [
    ['1', 1],
    ['100000', 100_000],
  ],
  wrong: ['', '0', '100001', '-1', '1.5', 'off'],
}

const TIME: Case<number> = {
  right: [
    ['100ms', 100],
    ['60m', 3_600_000],
  ],
  wrong: ['', '99ms', '0s', '61m', '10', 'off'],
}

/** Limits on concurrent work (src/limits.ts). */
export const WORK_CASES: CasesOf<keyof WorkLimits> = {
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
