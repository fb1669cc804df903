import { isLinux, runs } from './not-tested.ts'

export const hasTerminal = isLinux && runs('script', '-qec', 'true', '/dev/null')

/** Runs a program on a terminal, with both of its outputs. No argument may contain a quotation mark. */
export const ON_TERMINAL: readonly string[] = [
  'sh',
  '-c',
  `command=$(printf "'%s' " "$0" "$@"); exec script -qec "stty columns 100; $command" /dev/null`,
]
