import { storeSuite } from './store-suite.ts'
import { isDistributed } from './support/citus.ts'
import { openPostgres } from './support/open-postgres.ts'

storeSuite('files', 'PostgreSQL', openPostgres, { isSharded: isDistributed() })
