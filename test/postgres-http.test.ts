// The service's own tests once more, on PostgreSQL: what it promises is the same on every engine.
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { engine } from './support/engine-under-test.ts'

/** What is about SQLite's file, or over before a store is asked. */
const NOT_ABOUT_STORES = ['connection', 'framing', 'log-throttle', 'methods', 'parameters', 'raw-socket']

engine.current = 'postgres'
for (const file of globSync('http/*.test.ts', { cwd: import.meta.dirname }).sort()) {
  if (!NOT_ABOUT_STORES.includes(basename(file, '.test.ts'))) await import(`./${file}`)
}
