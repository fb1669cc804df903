import { type Signal, signal } from '@preact/signals'
import { type StoredName, storedAs } from '../page/stored.ts'
import { onSignOut } from './session.ts'

/** Keeps typed texts until they are stored: beyond their form, a reload of the tab and an expired token. */
export class Kept<T> {
  readonly #key: string
  readonly #nothing: T
  readonly #signal: Signal<T>

  /** @param nothing the value while nothing is typed, and after the person has signed out */
  constructor(key: StoredName, nothing: T) {
    this.#key = storedAs(key)
    this.#nothing = nothing
    this.#signal = signal<T>(JSON.parse(sessionStorage.getItem(this.#key) ?? 'null') ?? nothing)
    onSignOut(() => this.clear())
  }

  get value(): T {
    return this.#signal.value
  }

  set value(next: T) {
    this.#signal.value = next
    sessionStorage.setItem(this.#key, JSON.stringify(next))
  }

  clear(): void {
    this.#signal.value = this.#nothing
    sessionStorage.removeItem(this.#key)
  }
}
