// Runs some tests of the service on PostgreSQL. The suites of the stores hold what engines promise: these hold what the
// service makes of an engine's faults, of conditions that its statements decide, and of its log of changes.
import { isDistributed } from '../support/citus.ts'
import { engine } from '../support/engine-under-test.ts'

const FILES = ['create-plant', 'preconditions', 'service']
/** A distributed store keeps no log of changes. */
const OF_THE_LOG = isDistributed() ? [] : ['changes', 'parts']

engine.current = 'postgres'
for (const file of [...FILES, ...OF_THE_LOG]) await import(`../http/${file}.test.ts`)
