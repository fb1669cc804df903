import { storeSuite } from './store-suite.ts'
import { openSqlite } from './support/open-sqlite.ts'

storeSuite('lists', 'SQLite', openSqlite)
