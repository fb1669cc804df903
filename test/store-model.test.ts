import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { NewPlant } from '../src/plant.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import { type ModelStore, modelSuite } from './model-suite.ts'
import { copyAsAfterCrash, plantsIn, tempFolder } from './support/files.ts'

const open = (path: string): Promise<SqliteStore> =>
  SqliteStore.open(path, { serving: true, create: true, maxWaiting: 1000, onFatal: (error) => assert.fail(error) })

/** A store that moves to another file by a crash. */
async function openModel(t: TestContext): Promise<ModelStore> {
  const folder = tempFolder(t)
  let files = 0
  let path = join(folder, `${files}.db`)
  let store = await open(path)
  return {
    get store() {
      return store
    },
    async reopen() {
      await store.close()
      store = await open(path)
    },
    async crash() {
      const copy = join(folder, `${++files}.db`)
      copyAsAfterCrash(path, copy)
      await store.close()
      path = copy
      store = await open(path)
    },
    async plants() {
      const plants = [...plantsIn(path)].map(([id, { name, tag }]): NewPlant => ({ id, name, tag }))
      return plants.sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    close: () => store.close(),
  }
}

modelSuite('SQLite', openModel)
