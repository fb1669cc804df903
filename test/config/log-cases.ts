import type { CasesOf } from './case.ts'

/** Settings of the log and the audit log. */
export const LOG_CASES: CasesOf<'logFormat' | 'logLevel' | 'logBuffer' | 'auditLog' | 'auditBuffer'> = {
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
  logBuffer: {
    right: [
      ['64KiB', 65_536],
      ['1', 1],
    ],
    wrong: ['0', 'all', '1GB'],
  },
  auditLog: {
    right: [
      ['-', '-'],
      ['off', undefined],
      ['/var/log/plantstore/audit.log', '/var/log/plantstore/audit.log'],
    ],
    wrong: [''],
  },
  auditBuffer: {
    right: [
      ['64KiB', 65_536],
      ['1', 1],
    ],
    wrong: ['0', 'all', '1GB'],
  },
}
