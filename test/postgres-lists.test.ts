import { storeSuite } from './store-suite.ts'
import { isDistributed } from './support/citus.ts'
import { openPostgres } from './support/open-postgres.ts'

storeSuite('lists', 'PostgreSQL', openPostgres, { isSharded: isDistributed() })
