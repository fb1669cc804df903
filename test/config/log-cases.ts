import type { CasesOf } from './case.ts'

/** Settings of the log and the audit log. */
export const LOG_CASES: CasesOf<'logFormat' | 'logLevel' | 'auditLog'> = {
  logFormat: {
    right: [
      ['auto', 'auto'],
      ['json', 'json'],
      ['text', 'text'],
    ],
    wrong: ['JSON', 'pretty', ''],
  },
  logLevel: {
    right: [
      ['debug', 'debug'],
      ['silent', 'silent'],
    ],
    wrong: ['', 'verbose', 'INFO', 'trace'],
  },
  auditLog: {
    right: [
      ['-', '-'],
      ['off', undefined],
      ['/var/log/plantstore/audit.log', '/var/log/plantstore/audit.log'],
    ],
    wrong: [''],
  },
}
