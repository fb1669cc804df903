import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { NewPlant } from '../src/domain/plant.ts'
import { indexPath } from '../src/sqlite/indexed.ts'
import { Indexer } from '../src/sqlite/search-index/indexer.ts'
import type { SqliteStoreOptions } from '../src/sqlite/store.ts'
import type { Request, ThreadData } from '../src/sqlite/worker/protocol.ts'
import { type Disturbance, type ModelStore, modelSuite } from './model-suite.ts'
import { copyAsAfterCrash, plantsIn, tempFolder } from './support/files.ts'
import { storeAt } from './support/open-sqlite.ts'
import { IDLE } from './support/sqlite-indexes.ts'
import { happens } from './support/until.ts'

/** A store of which each crash makes a copy, which is then used. */
async function openModel(
  t: TestContext,
  options: Partial<SqliteStoreOptions> = {},
): Promise<Required<Omit<ModelStore, 'disturb'>> & { readonly path: string }> {
  const open = (path: string) => storeAt(path, { changesKeep: 86_400_000, ...options })
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
      copyAsAfterCrash(indexPath(path), indexPath(copy))
      await store.close()
      path = copy
      store = await open(path)
    },
    async plants() {
      const plants = [...plantsIn(path)].map(([id, { name, tag }]): NewPlant => ({ id, name, tag }))
      return plants.sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    close: () => store.close(),
    get path() {
      return path
    },
  }
}

/** Steps that take in all changes of a run many times over. */
const MOST_STEPS = 5000

/** The same with an index that takes in a few changes at a time, only on request, and is sometimes removed. */
async function openDisturbed(t: TestContext): Promise<ModelStore> {
  const model = await openModel(t, { startFollower: () => IDLE })
  let indexer: Indexer | undefined
  const stop = () => {
    indexer?.close()
    indexer = undefined
  }
  const disturb = async (disturbance: Disturbance) => {
    if (disturbance === 'stop') return stop()
    if (disturbance === 'remove') return rmSync(indexPath(model.path), { force: true })
    if (disturbance === 'kill') return killAmidWork(model.path)
    indexer ??= new Indexer(model.path, { batch: 2, mergeFrom: 5 })
    let steps = disturbance === 'catch up' ? MOST_STEPS : 1
    while (!indexer.step().isDone && --steps > 0);
    assert.ok(steps > 0 || disturbance === 'step', 'the index does not catch up')
  }
  const reopen = async (way: () => Promise<void>) => {
    stop()
    await way()
  }
  return {
    get store() {
      return model.store
    },
    disturb,
    reopen: () => reopen(model.reopen),
    crash: () => reopen(model.crash),
    plants: model.plants,
    close: () => reopen(model.close),
  }
}

/** Starts the thread of the indexer, and terminates it at a random moment. */
async function killAmidWork(path: string): Promise<void> {
  const thread = new Worker(new URL('../src/sqlite/thread.ts', import.meta.url), {
    workerData: { role: 'index', path } satisfies ThreadData,
  })
  await happens(thread, 'online', 'the thread does not start')
  thread.postMessage({ call: 1, method: 'wake', args: [true] } satisfies Request)
  await sleep(Math.random() * 30)
  await thread.terminate()
}

modelSuite('SQLite', openModel)
modelSuite('SQLite, with an index that is stopped, slowed, killed, removed and restarted', openDisturbed)
