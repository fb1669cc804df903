import { type Signal, signal } from '@preact/signals'
import { keepStored, onForgotten, type StoredName, storedAs } from './stored.ts'

/** What the device keeps as JSON, in all tabs that show this service. */
export class OnDevice<T> {
  readonly #name: StoredName
  readonly #signal: Signal<T>

  /** @param read makes the value of what was kept, by whatever version; undefined: nothing is kept */
  constructor(name: StoredName, read: (found: unknown) => T) {
    const kept = (): T => {
      try {
        return read(JSON.parse(localStorage.getItem(storedAs(name)) ?? 'null') ?? undefined)
      } catch {
        return read(undefined)
      }
    }
    const showKept = () => {
      this.#signal.value = kept()
    }
    this.#name = name
    this.#signal = signal(kept())
    onForgotten(showKept)
    addEventListener('storage', ({ key }) => {
      if (key === storedAs(name) || key === null) showKept()
    })
  }

  get value(): T {
    return this.#signal.value
  }

  /** Shows a value, in this tab alone where the browser has no room. @returns whether it has */
  keep(next: T): boolean {
    this.#signal.value = next
    try {
      keepStored(this.#name, JSON.stringify(next))
      return true
    } catch {
      return false
    }
  }
}
