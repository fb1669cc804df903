import { storeSuite } from './store-suite.ts'
import { openSqlite } from './support/open-sqlite.ts'

// As commands open it, which start the thread of the index with the first search alone.
storeSuite('files', 'SQLite', (t, options) => openSqlite(t, { ...options, serving: false }))
