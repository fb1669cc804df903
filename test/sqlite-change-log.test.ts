import { changeLogSuite } from './change-log-suite.ts'
import { openSqlite } from './support/open-sqlite.ts'

// As commands open it, which start the thread of the index with the first search alone.
changeLogSuite('SQLite', (t) => openSqlite(t, { changesKeep: 86_400_000, serving: false }))
