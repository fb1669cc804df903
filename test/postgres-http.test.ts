// Runs the tests of the service on PostgreSQL: the service keeps its promises on every engine.
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { isDistributed } from './support/citus.ts'
import { engine } from './support/engine-under-test.ts'

/**
 * Tests of connections, memory, access, addresses, formats, texts and bytes. They do not depend on the engine, as they read one
 * plant at most, or use what the suite of the stores tests on both engines, or start a process with a store of their
 * own.
 */
const NOT_ABOUT_STORES = new Set([
  ...['access-matrix', 'audit', 'auth', 'auth-bounds', 'base-path', 'body', 'client-address'],
  ...['compressed-files', 'compression', 'connection', 'connection-bounds', 'cors', 'docs-page', 'event-loop'],
  ...['failed-authentication', 'floods', 'forgetting', 'framing', 'get-plant', 'idle-connections', 'import'],
  ...['import-export', 'import-sheets', 'issuer-keys', 'jwt', 'jwt-floods', 'list-plants', 'methods', 'negotiation'],
  ...['operations', 'overload', 'paging', 'parameters', 'pipelining', 'plant-schemas', 'public-url'],
  ...['raw-socket', 'refusal-log', 'request-id', 'resets', 'stream-lifetime', 'token-floods'],
  ...['token-rotation', 'tokens', 'web-files'],
])

/** Tests of the log of changes, which a distributed store does not keep. */
const OF_THE_LOG = new Set(['changes', 'change-streams', 'text-ids'])

engine.current = 'postgres'
for (const file of globSync('http/*.test.ts', { cwd: import.meta.dirname }).sort()) {
  const subject = basename(file, '.test.ts')
  if (NOT_ABOUT_STORES.has(subject) || (isDistributed() && OF_THE_LOG.has(subject))) continue
  await import(`./${file}`)
}
