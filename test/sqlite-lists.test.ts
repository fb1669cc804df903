import { changeLogSuite } from './change-log-suite.ts'
import { storeSuite } from './store-suite.ts'
import { openSqlite } from './support/open-sqlite.ts'

storeSuite('lists', 'SQLite', openSqlite)
// As commands open it, which start the thread of the index with the first search alone.
changeLogSuite('SQLite', (t) => openSqlite(t, { changesKeep: 86_400_000, serving: false }))
