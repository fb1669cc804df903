// Runs the tests of connections again over TLS, which changes when bytes come, how sockets end, and what they hold.
import { useTls } from '../../support/transport.ts'

const BESIDE = ['connection-bounds', 'floods', 'long-work', 'transfers']
const OTHERS = ['connection', 'pipelining', 'raw-socket']

await useTls()
for (const file of BESIDE) await import(`../http/${file}.test.ts`)
for (const file of OTHERS) await import(`../../http/${file}.test.ts`)
