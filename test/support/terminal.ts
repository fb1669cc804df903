import { type TestContext, test } from 'node:test'
import { isLinux, notTestedHere, runs } from './not-tested.ts'
import { type Outcome, Program, type ProgramOptions } from './process.ts'

export const hasTerminal = isLinux && runs('script', '-qec', 'true', '/dev/null')

/** Runs a program on a terminal, with both of its outputs; TERM_OF_TEST names its kind. No argument may contain a quotation mark. */
export const ON_TERMINAL: readonly string[] = [
  'sh',
  '-c',
  `command=$(printf "'%s' " "$0" "$@"); export TERM="\${TERM_OF_TEST:-xterm}"; exec script -qec "stty columns 100; $command" /dev/null`,
]

/** A test of a program on a terminal. */
export const terminalTest = (title: string, work: (t: TestContext) => Promise<void>) =>
  test(title, (t) => (hasTerminal ? work(t) : notTestedHere(t, `${title}, as there is no command script`)))

/** Runs a program on a terminal, where a person answers one question after the other. */
export async function answering(
  t: TestContext,
  args: readonly string[],
  answers: readonly string[],
  options: ProgramOptions,
): Promise<Outcome> {
  const program = new Program(t, args, { ...options, under: ON_TERMINAL, hasInput: true })
  for (const [i, answer] of answers.entries()) {
    await program.says((stdout) => (stdout.split('[y/N]').length > i + 1 ? true : undefined))
    program.child.stdin?.write(answer)
  }
  return program.outcome
}
