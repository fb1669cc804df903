// Parts of the page in Node.js, with what a browser keeps in memory: as much of IndexedDB
// (https://www.w3.org/TR/IndexedDB/) as `offline/` uses.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { ROOT } from '../../scripts/repository.ts'
import type { Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'

class Request extends EventTarget {
  result: unknown
  error: DOMException | null = null
  readonly transaction: Transaction | null

  constructor(transaction: Transaction | null) {
    super()
    this.transaction = transaction
  }
}

/** The stores of the one database, by their names. */
const kept = new Map<string, Map<string, unknown>>()
let writing: Promise<unknown> = Promise.resolve()

class Transaction extends EventTarget {
  readonly objectStoreNames: readonly string[]
  readonly #begun: Promise<unknown>
  #open = 0

  constructor(name: string, mode: string) {
    super()
    this.objectStoreNames = [name]
    this.#begun = mode === 'readwrite' ? writing : Promise.resolve()
    if (mode === 'readwrite') writing = new Promise((resolve) => this.addEventListener('complete', resolve))
  }

  objectStore(name: string): Store {
    return new Store(this, kept.get(name) ?? new Map())
  }

  run(work: () => unknown): Request {
    const request = new Request(this)
    this.#open += 1
    void this.#begun.then(() => {
      request.result = structuredClone(work())
      request.dispatchEvent(new Event('success'))
      // What follows in the same transaction is asked for in the turn of the answer.
      setImmediate(() => {
        this.#open -= 1
        if (this.#open === 0) this.dispatchEvent(new Event('complete'))
      })
    })
    return request
  }
}

class Store {
  readonly #transaction: Transaction
  readonly #rows: Map<string, unknown>

  constructor(transaction: Transaction, rows: Map<string, unknown>) {
    this.#transaction = transaction
    this.#rows = rows
  }

  get = (key: string): Request => this.#transaction.run(() => this.#rows.get(key))
  getAll = (): Request => this.#transaction.run(() => [...this.#rows.values()])
  delete = (key: string): Request => this.#transaction.run(() => void this.#rows.delete(key))
  put = (row: { readonly key: string }): Request => {
    const copy = structuredClone(row)
    return this.#transaction.run(() => void this.#rows.set(row.key, copy))
  }
  createIndex = (): void => {}
}

class Database extends EventTarget {
  readonly transaction = (name: string, mode: string): Transaction => new Transaction(name, mode)
  readonly close = (): void => {}
  createObjectStore(name: string): Store {
    kept.set(name, new Map())
    return new Store(new Transaction(name, 'readonly'), new Map())
  }
}

function open(): Request {
  const request = new Request(new Transaction('', 'readonly'))
  request.result = new Database()
  setImmediate(() => {
    request.dispatchEvent(Object.assign(new Event('upgradeneeded'), { oldVersion: 0, newVersion: 1 }))
    request.dispatchEvent(new Event('success'))
  })
  return request
}

class Nothing {
  advance(): void {}
  continue(): void {}
  continuePrimaryKey(): void {}
}

/** What the page asks of a browser beside that, where it shows nothing. */
const BROWSER = {
  indexedDB: { open },
  IDBRequest: Request,
  IDBDatabase: Database,
  IDBTransaction: Transaction,
  IDBObjectStore: Store,
  IDBIndex: Nothing,
  IDBCursor: Nothing,
  BroadcastChannel: class {
    postMessage(): void {}
  },
  isSecureContext: false,
  // The attempt every 30 s: no history takes so long.
  setInterval: () => 0,
  location: new URL('http://127.0.0.1/'),
  sessionStorage: { getItem: () => null, setItem() {}, removeItem() {} },
  localStorage: { getItem: () => null, setItem() {}, removeItem() {} },
  document: { hidden: false, addEventListener() {}, documentElement: {}, querySelector: () => null },
  addEventListener() {},
  removeEventListener() {},
}

/**
 * Bundles parts of the page, because Node.js runs no JSX, and gives them a browser of the test.
 *
 * @param parts the names that each file exports
 */
export async function loadParts<Parts>(scene: Scene, parts: Readonly<Record<string, string>>): Promise<Parts> {
  const contents = Object.entries(parts).map(([file, names]) => `export { ${names} } from './${file}'`)
  const { outputFiles } = await build({
    stdin: { contents: contents.join('\n'), resolveDir: ROOT, loader: 'ts' },
    tsconfigRaw: {},
    jsx: 'automatic',
    jsxImportSource: 'preact',
    bundle: true,
    external: ['*.js'],
    write: false,
    format: 'esm',
    mainFields: ['module', 'main'],
  })
  const path = join(tempFolder(scene), 'page.mjs')
  writeFileSync(path, outputFiles[0]?.contents ?? '')
  for (const [name, value] of Object.entries(BROWSER)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  return (await import(pathToFileURL(path).href)) as Parts
}
