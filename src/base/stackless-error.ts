declare global {
  interface ErrorConstructor {
    /** Of V8; other browsers ignore it. */
    stackTraceLimit: number
  }
}

/**
 * An error that is an answer, and no bug: its message says where it comes from. A stack takes several times as long as
 * the rest of a row that is refused, and a file of 60 kB may have 30,000 of them.
 */
export class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
  }
}
