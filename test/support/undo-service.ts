import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { tempFolder } from './files.ts'
import { NDJSON } from './import.ts'
import { newDatabase } from './postgres.ts'
import { TOKEN } from './process.ts'

/** New stores of both engines, by their addresses. */
export const STORES: readonly (readonly [string, (t: TestContext) => Promise<string>])[] = [
  ['SQLite', async (t) => `sqlite:${join(tempFolder(t), 'plants.db')}`],
  ['PostgreSQL', (t) => newDatabase(t)],
]

interface ListedAction {
  readonly id: string
  readonly created: number
  readonly updated: number
  readonly deleted: number
  readonly undoes?: string
  readonly undoneBy?: string
}

interface LoggedChange {
  readonly position: string
  readonly type: string
  readonly action?: string
  readonly plant?: { readonly id: number; readonly name: string }
  readonly before?: { readonly id: number; readonly name: string }
}

export interface UndoReport {
  readonly restored: number
  readonly left: number
  readonly leftPlants: readonly { readonly id: number; readonly plant?: object }[]
}

const HEADERS = { Authorization: `Bearer ${TOKEN}` }

/** What a client of a running service asks about actions. */
export class UndoClient {
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  /** Imports plants of these names by their ids, as a part of an action. */
  async importPlants(rows: readonly string[], { mode = 'update', action }: { mode?: string; action?: string } = {}) {
    const named = action === undefined ? {} : { 'Plantstore-Action': action }
    const headers = { ...HEADERS, 'Content-Type': NDJSON, ...named }
    const answer = await fetch(`${this.#address}/plants/import?mode=${mode}`, {
      method: 'POST',
      headers,
      body: rows.join('\n'),
    })
    assert.match(await answer.text(), /"refused":0/)
  }

  async undo(action: string, headers: Record<string, string>): Promise<UndoReport & { readonly id: string }> {
    const path = `${this.#address}/actions/${action}/undo`
    const answer = await fetch(path, { method: 'POST', headers: { ...HEADERS, ...headers } })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return { ...(JSON.parse(text) as UndoReport), id: answer.headers.get('plantstore-action') ?? assert.fail() }
  }

  /** The bytes of the export by id. */
  async export(): Promise<string> {
    return (await fetch(`${this.#address}/plants/export?format=ndjson`, { headers: HEADERS })).text()
  }

  actions(query = ''): Promise<readonly ListedAction[]> {
    return this.#json(`/actions${query}`)
  }

  /** All changes after a position. */
  async changes(after?: string, query = ''): Promise<LoggedChange[]> {
    const all: LoggedChange[] = []
    for (let last = after; ; ) {
      const from = last === undefined ? '' : `&after=${last}`
      const page = await this.#json<LoggedChange[]>(`/changes?limit=1000${query}${from}`)
      all.push(...page)
      last = page.at(-1)?.position
      if (last === undefined) return all
    }
  }

  async #json<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.#address}${path}`, { headers: HEADERS })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return JSON.parse(text) as T
  }
}

/** Rows of an import with ids from one on. */
export const rowsOf = (first: number, count: number, name: string): string[] =>
  Array.from({ length: count }, (_, i) => `{"id":${first + i},"name":"${name} ${first + i}"}`)
