import { changeLogSuite } from './change-log-suite.ts'
import { storeSuite } from './store-suite.ts'
import { openSqlite } from './support/open-sqlite.ts'

storeSuite('lists', 'SQLite', openSqlite)
changeLogSuite('SQLite', (t) => openSqlite(t, { changesKeep: 86_400_000 }))
