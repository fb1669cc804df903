import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AppError, type ErrorNumber } from '../../src/domain/errors.ts'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { Store } from '../../src/domain/store.ts'
import { TESTER } from './actor.ts'
import type { Scene } from './clean-up.ts'
import { wholeFile } from './whole-file.ts'

/** A store of one engine for the store suite. It is closed after the test. */
export interface StoreUnderTest {
  readonly store: Store
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>
  /** All stored plants, read without the store. */
  plants(): Promise<NewPlant[]>
}

export type OpenStore = (t: Scene, options?: { maxWaiting?: number }) => Promise<StoreUnderTest>

/**
 * Opens the store that tests of this process share, without plants and webhooks. It is for tests that neither close it
 * nor make tokens or reservations: opening a store for each takes most of their processor time.
 */
export function openShared(open: OpenStore): OpenStore {
  let shared: Promise<StoreUnderTest> | undefined
  return async (t, options) => {
    if (options !== undefined) return open(t, options)
    shared ??= open(wholeFile)
    const { store, plants, reopen } = await shared
    for (const { webhook } of await store.webhooks.list()) await store.webhooks.delete(webhook.id)
    const rows = await plants()
    for (let i = 0; i < rows.length; i += 5000) await store.importPlants(rows.slice(i, i + 5000), 'delete', TESTER)
    return {
      store,
      plants,
      async reopen() {
        const again = await reopen()
        shared = Promise.resolve({ store: again, plants, reopen })
        return again
      },
    }
  }
}

/** What a test of the suites gets: a store, and what opens another one. */
interface Opened extends StoreUnderTest {
  readonly t: TestContext
  open(options?: { maxWaiting?: number }): Promise<StoreUnderTest>
}

export type Suite = (title: string, work: (opened: Opened) => Promise<void>) => void

/** Makes tests that begin with their name and open a store each. */
export const suiteOf =
  (name: string, open: OpenStore): Suite =>
  (title, work) =>
    void test(`${name}: ${title}`, async (t) => work({ ...(await open(t)), t, open: (options) => open(t, options) }))

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
