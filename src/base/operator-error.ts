/** A fault that only the operator can mend. The program prints it as one line, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  /** 1: the command failed. 2: its arguments or settings are wrong. */
  readonly exitCode: 1 | 2

  constructor(message: string, options: { exitCode?: 1 | 2; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.exitCode = options.exitCode ?? 1
  }
}

/** The fault of a flag, a setting or a file that a command was given. */
export const usageError = (subject: string, why: string): OperatorError =>
  new OperatorError(`${subject}: ${why}`, { exitCode: 2 })
