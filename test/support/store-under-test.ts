import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { AppError, type ErrorNumber } from '../../src/domain/errors.ts'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { Store } from '../../src/domain/store.ts'

/** A store of one engine for the store suite. It is closed after the test. */
export interface StoreUnderTest {
  readonly store: Store
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>
  /** All stored plants, read without the store. */
  plants(): Promise<NewPlant[]>
}

export type OpenStore = (t: TestContext, options?: { maxWaiting?: number }) => Promise<StoreUnderTest>

export type Suite = (title: string, work: (t: TestContext) => Promise<void>) => void

export const plant = (id: bigint, name = `plant ${id}`, tag: string | undefined = undefined): NewPlant => ({
  id,
  name,
  tag,
})

/** A check for `assert.rejects`: whether the error is a refusal with this number. */
export const refusal =
  (number: ErrorNumber) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof AppError, `not an AppError: ${error instanceof Error ? error.stack : error}`)
    assert.equal(error.number, number, error.message)
    return true
  }
