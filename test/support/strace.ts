import { isLinux, runs } from './not-tested.ts'

const STRACE = ['strace', '-f', '-qq'] as const
/** Stops a program only in the calls to trace, not in all (strace(1)). The program hangs if `-P` chooses among them. */
const QUICK = '--seccomp-bpf'

/** Whether a test can let system calls fail. */
export const hasStrace =
  isLinux && runs(...STRACE, QUICK, '-o', '/dev/null', '-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO', 'true')

/** The command that runs a program and writes its calls to a file. @param calls their names, with commas */
export const tracing = (calls: string, log: string): readonly string[] => [
  ...STRACE,
  ...[QUICK, '-y', '-s', '0', '-o', log, '-e', `trace=${calls}`],
]

/**
 * The command that runs a program in which a system call fails.
 *
 * @param fault how and when, in the words of `inject` of strace(1)
 * @param path lets only calls on this file fail
 */
export const failing = (call: string, fault: string, path?: string): readonly string[] => [
  ...STRACE,
  ...['-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:${fault}`],
  ...(path === undefined ? [QUICK] : ['-P', path]),
]
