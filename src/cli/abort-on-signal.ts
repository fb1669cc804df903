/** The exit codes of a shell: 128 plus the number of the signal. */
const EXIT_CODES: Readonly<Partial<Record<NodeJS.Signals, number>>> = { SIGINT: 130, SIGTERM: 143 }

/** The reason of the AbortSignal of a stopped command. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly exitCode: number

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`)
    this.exitCode = EXIT_CODES[signal] ?? 1
  }
}

/** Returns a signal that SIGINT or SIGTERM aborts with a `Stopped`. A second signal ends the process at once. */
export function abortOnSignal(): AbortSignal {
  const controller = new AbortController()
  onStopSignal((signal) => controller.abort(new Stopped(signal)))
  return controller.signal
}

/** Calls `stop` at the first SIGTERM or SIGINT. A second signal ends the process at once. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(130)
      stopping = true
      stop(signal)
    })
  }
}
