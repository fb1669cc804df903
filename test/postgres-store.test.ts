import { storeSuite } from './store-suite.ts'
import { isDistributed } from './support/citus.ts'
import { openPostgres } from './support/open-postgres.ts'

storeSuite('writes', 'PostgreSQL', openPostgres, { isSharded: isDistributed() })
