import { CommanderError } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { fileFault } from './plant-files.ts'
import { program } from './program.ts'
import { Stopped } from './signals.ts'

/** Runs one command. Exit codes: 0 done, 1 failed, 2 wrong usage. */
export async function main(argv: readonly string[]): Promise<void> {
  process.stderr.on('error', () => {})
  process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
    // A reader that closes standard output early, such as `head`, is no failure.
    if (fault.code !== 'EPIPE') process.once('exit', () => failUnlessFailed(fault))
  })
  try {
    await program().parseAsync(argv)
  } catch (error) {
    process.exitCode = report(error)
    // A read that has not ended may wait for ever.
    if (error instanceof Stopped) process.exit()
  }
}

/** The command has done its work, but what it wrote is lost, such as the secret of a token. */
function failUnlessFailed(fault: Error): void {
  if ((process.exitCode ?? 0) === 0) process.exitCode = report(fileFault('standard output', fault))
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
