import { isLinux, runs } from './not-tested.ts'

export const hasTerminal = isLinux && runs('script', '-qec', 'true', '/dev/null')

/** Runs a program on a terminal, with both of its outputs; TERM_OF_TEST names its kind. No argument may contain a quotation mark. */
export const ON_TERMINAL: readonly string[] = [
  'sh',
  '-c',
  `command=$(printf "'%s' " "$0" "$@"); export TERM="\${TERM_OF_TEST:-xterm}"; exec script -qec "stty columns 100; $command" /dev/null`,
]
