import { CommanderError } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { program } from './program.ts'
import { Stopped } from './signals.ts'

/** Runs one command. Exit codes: 0 done, 1 failed, 2 wrong usage. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader that closes a standard stream early, such as `head`, is no failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    await program().parseAsync(argv)
  } catch (error) {
    process.exitCode = report(error)
    // A read that has not ended may wait for ever.
    if (error instanceof Stopped) process.exit()
  }
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof Stopped) return error.exitCode
  if (error instanceof OperatorError) {
    process.stderr.write(`plantstore: ${printable(error.message).replaceAll('\n', '\nplantstore: ')}\n`)
    return error.exitCode
  }
  if (error instanceof AppError && error.status !== 500) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
    process.stderr.write(`plantstore: error ${error.number}: ${printable(`${error.message}${cause}`)}\n`)
    return 1
  }
  process.stderr.write(`plantstore: ${error instanceof Error ? error.stack : String(error)}\n`)
  return 1
}
