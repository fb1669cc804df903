import type { CasesOf } from './case.ts'

/** Settings of the store, its connections and its backups. */
export const STORE_CASES: CasesOf<
  | 'store'
  | 'storeConnections'
  | 'storeTimeout'
  | 'storeWait'
  | 'changesKeep'
  | 'changesKeepSize'
  | 'backupEvery'
  | 'backupKeep'
  | 'backupFolder'
> = {
  store: {
    right: [
      ['sqlite:/srv/plants.db', { engine: 'sqlite', path: '/srv/plants.db', isDefault: false }],
      ['sqlite:data/plants.db', { engine: 'sqlite', path: 'data/plants.db', isDefault: true }],
    ],
    // test/postgres-address.test.ts tests addresses of PostgreSQL.
    wrong: ['', 'sqlite:', 'plants.db', 'mysql://localhost', 'SQLITE:x', 'postgres:x', 'postgres://host:port/db'],
  },
  storeConnections: {
    right: [
      ['4', 4],
      ['1000', 1000],
    ],
    wrong: ['', '3', '1001', 'all'],
  },
  storeTimeout: {
    right: [
      ['100ms', 100],
      ['1m', 60_000],
    ],
    wrong: ['', '99ms', '0s', '10'],
  },
  storeWait: {
    right: [
      ['0s', 0],
      ['5m', 300_000],
    ],
    wrong: ['', '-1s', 'for ever'],
  },
  changesKeep: {
    right: [
      ['auto', 'auto'],
      ['0s', 0],
      ['12h', 43_200_000],
      ['7d', 604_800_000],
    ],
    wrong: ['', '7', '-1d', '500ms', '1w', '3651d', '9999999999d'],
  },
  changesKeepSize: {
    right: [
      ['1MiB', 2 ** 20],
      ['4GiB', 2 ** 32],
    ],
    wrong: ['', '0', '1', '1KiB', '-1GiB', '1TiB', '2000GiB'],
  },
  backupEvery: {
    right: [
      ['off', undefined],
      ['24h', 86_400_000],
    ],
    wrong: ['', '59s', '0s', '24', 'daily'],
  },
  backupKeep: {
    right: [
      ['1', 1],
      ['10000', 10_000],
    ],
    wrong: ['', '0', '10001', '-1', '1.5', 'all'],
  },
  backupFolder: {
    right: [
      ['/backup', '/backup'],
      ['backups', 'backups'],
    ],
    wrong: [''],
  },
}
