// Runs the tests of connections again over TLS, which changes when bytes come, how sockets end, and what they hold.
import { useTls } from '../support/transport.ts'

const FILES = [
  ...['connection', 'connection-bounds', 'export-connection', 'floods', 'idle-connections', 'import-connection'],
  ...['pipelining', 'raw-socket', 'slow-clients'],
]

await useTls()
for (const file of FILES) await import(`../http/${file}.test.ts`)
