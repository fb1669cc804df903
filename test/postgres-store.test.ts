import { storeSuite } from './store-suite.ts'
import { CITUS_VARIABLE } from './support/citus.ts'
import { openPostgres } from './support/open-postgres.ts'

storeSuite('PostgreSQL', openPostgres, { isSharded: (process.env[CITUS_VARIABLE] ?? '') !== '' })
