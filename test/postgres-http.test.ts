// Runs the tests of the service on PostgreSQL: the service keeps its promises on every engine.
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { engine } from './support/engine-under-test.ts'

/**
 * Tests of connections, memory, texts and bytes. They do not depend on the engine, as they read one plant at most, or
 * they start a process with a store of their own.
 */
const NOT_ABOUT_STORES = new Set([
  ...['auth-bounds', 'body', 'body-memory', 'client-address', 'compressed-files', 'compression', 'connection'],
  ...['connection-bounds', 'cors', 'docs-page', 'event-loop', 'failed-authentication', 'floods', 'framing'],
  ...['forgetting', 'idle-connections', 'methods', 'negotiation', 'operations', 'overload', 'parameters', 'pipelining'],
  ...['plant-schemas', 'raw-socket', 'refusal-log', 'request-id', 'resets', 'shared-turns', 'token-floods'],
])

engine.current = 'postgres'
for (const file of globSync('http/*.test.ts', { cwd: import.meta.dirname }).sort()) {
  if (!NOT_ABOUT_STORES.has(basename(file, '.test.ts'))) await import(`./${file}`)
}
