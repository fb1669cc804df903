import { openLog } from '../src/cli/log.ts'
import { readConfig } from '../src/config.ts'
import { buildApp } from '../src/http/app.ts'
import { readContract } from '../src/http/contract.ts'
import type { Phase } from '../src/http/phase.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import { WriterClient } from '../src/sqlite/writer-client.ts'
import { EventLoopWriter } from './event-loop-writer.ts'

/**
 * The service with one decision taken the other way, so that the decision can be measured: `one-commit-per-create`,
 * `writer-on-event-loop` or `writer-in-thread`.
 */
const variant = process.argv[2]
const config = readConfig({}, process.env)
if (config.store.engine !== 'sqlite') throw new Error('these variants are of the SQLite engine')
const store = await SqliteStore.open(config.store.path, {
  serving: true,
  create: true,
  maxWaiting: config.maxWaiting,
  ...(variant === 'one-commit-per-create' ? { maxGroup: 1 } : {}),
  ...(variant === 'writer-on-event-loop' ? { startWriter: (path) => new EventLoopWriter(path) } : {}),
  ...(variant === 'writer-in-thread' ? { startWriter: (path, onFatal) => new WriterClient(path, onFatal) } : {}),
  onFatal: (error) => {
    throw error
  },
})
const phase: Phase = { current: 'serving' }
const app = buildApp({
  config,
  contract: readContract(),
  store,
  log: openLog(config.logLevel),
  phase,
  waiting: () => store.waiting,
})
await app.listen({ host: config.host, port: config.port })
console.log('Ready')
process.on('SIGTERM', async () => {
  await app.close()
  await store.close()
  process.exit()
})
