/** Who opens something registers its close here; closing runs them last in, first out. */
export class Lifecycle {
  readonly #closers: { name: string; close: () => Promise<void> | void }[] = []

  register(name: string, close: () => Promise<void> | void): void {
    this.#closers.push({ name, close })
  }

  /** Closes everything even where one close fails, and then throws what failed. */
  async close(): Promise<void> {
    const failures: Error[] = []
    for (let closer = this.#closers.pop(); closer !== undefined; closer = this.#closers.pop()) {
      try {
        await closer.close()
      } catch (cause) {
        failures.push(new Error(`closing ${closer.name} failed`, { cause }))
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map((failure) => failure.message).join('; '))
  }
}

/** The first signal stops the service in order; a second one ends the process at once. */
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
