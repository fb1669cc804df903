import { storeSuite } from './store-suite.ts'
import { openPostgres } from './support/open-postgres.ts'

storeSuite('PostgreSQL', openPostgres)
