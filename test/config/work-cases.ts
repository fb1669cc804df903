import type { Case, CasesOf } from './case.ts'

const COUNT: Case<number> = {
  right: [
    ['1', 1],
    ['100000', 100_000],
  ],
  wrong: ['', '0', '100001', '-1', '1.5', 'off'],
}

/** Bounds of the long work of clients. */
export const WORK_CASES: CasesOf<'maxSearches' | 'searchTimeout' | 'maxExports' | 'maxImports'> = {
  maxSearches: COUNT,
  searchTimeout: {
    right: [
      ['100ms', 100],
      ['60m', 3_600_000],
    ],
    wrong: ['', '99ms', '0s', '61m', '10', 'off'],
  },
  maxExports: COUNT,
  maxImports: COUNT,
}
