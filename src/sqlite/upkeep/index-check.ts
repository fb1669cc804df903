import { setImmediate as nextTurn } from 'node:timers/promises'
import { sortKey } from '../../fold.ts'
import { murmur3 } from '../../murmur.ts'
import type { NewPlant } from '../../plant.ts'
import { plantWords } from '../../plant-query.ts'
import type { CheckedPart, LongWork } from '../../upkeep.ts'
import type { ChangeReader } from '../change-log/change-reader.ts'
import { plantOf } from '../rows.ts'
import { IndexFault } from '../search-index/index-fault.ts'
import type { IndexState } from '../search-index/index-file.ts'
import { IndexView } from '../search-index/index-view.ts'
import { matchExpression, negativeIn } from '../search-index/terms.ts'
import type { StatementCache } from '../statement-cache.ts'

/** Maximum number of changes that a compared index may be behind: the check holds each of them in memory. */
const MAX_BEHIND = 200_000
/** Plants whose words the check looks up, spread evenly over all plants. Each takes some 20 µs. */
const SAMPLE = 10_000
/** Rows between two turns of the event loop, which let a signal stop the check. */
const TURN = 5000

/** Compares the search index with the plants as they were at its position. */
export class IndexCheck {
  readonly #view: IndexView
  readonly #identity: Uint8Array
  #state: IndexState | undefined

  constructor(storePath: string, identity: Uint8Array) {
    this.#view = new IndexView(storePath)
    this.#identity = identity
  }

  /** Call it before the transaction of the store begins. */
  begin(): void {
    this.#state = this.#view.begin(this.#identity)
  }

  close(): void {
    this.#view.close()
  }

  /** Reports no fault for an index that is missing, or of another version or history, as a service rebuilds it. */
  async check(store: StatementCache, changes: ChangeReader, work: LongWork): Promise<CheckedPart> {
    const state = this.#state
    if (state === undefined) return part('there is none for this store and version; a service builds it')
    if (!this.#view.isContinued(changes, state))
      return part('it belongs to another history of the store; a service rebuilds it')
    const behind = changes.head() - state.position
    if (behind > MAX_BEHIND) return part(`${behind} changes behind; too many to compare`)
    try {
      const faults = [...this.#structure(), ...(await this.#entries(store, changes, state, work))]
      const progress = state.isScanning ? `, ${state.scanned} of ${state.plants} plants scanned` : ''
      return { part: 'index', found: `${behind} changes behind${progress}`, faults }
    } catch (error) {
      if (!(error instanceof IndexFault)) throw error
      return { part: 'index', found: 'unreadable', faults: [error.message] }
    }
  }

  /** Runs SQLite's check, which includes the full-text index, and compares the counts of tags with the tags. */
  #structure(): string[] {
    const { statements } = this.#view
    const found = statements.all('PRAGMA integrity_check(20)').map(({ 0: text }) => String(text))
    const faults = found.length === 1 && found[0] === 'ok' ? [] : found
    const counts = 'SELECT tag, plants FROM tag_counts'
    const counted = 'SELECT tag, count(*) FROM tags GROUP BY tag'
    const differences = `SELECT count(*) FROM (SELECT * FROM (${counts} EXCEPT ${counted}) UNION ALL SELECT * FROM (${counted} EXCEPT ${counts}))`
    const wrong = Number(statements.get(differences)?.[0] ?? 0)
    if (wrong > 0) faults.push(`the counts of tags differ in ${wrong} places`)
    return faults
  }

  async #entries(store: StatementCache, changes: ChangeReader, state: IndexState, work: LongWork): Promise<string[]> {
    const { statements } = this.#view
    const [names, tags, ids] = [new EntryDigest(), new EntryDigest(), new EntryDigest()]
    const stride = Math.max(1, Math.ceil(Number(store.get('SELECT count(*) FROM plants')?.[0] ?? 0) / SAMPLE))
    let plants = 0
    let unfound = 0
    for (const plant of plantsAt(store, changes, state)) {
      names.add(sortKey(plant.name), plant.id)
      if (plant.tag !== undefined) tags.add(plant.tag, plant.id)
      ids.add('', plant.id)
      if (plants++ % stride === 0 && !this.#isFound(plant)) unfound++
      if (plants % TURN === 0) await turn(work)
    }
    const compare = async (what: string, sql: string, expected: EntryDigest): Promise<string[]> => {
      const found = new EntryDigest()
      for (const { 0: text, 1: id } of statements.iterate(sql)) {
        found.add(text as string, id as bigint)
        if (found.count % TURN === 0) await turn(work)
      }
      return found.equals(expected)
        ? []
        : [`${what}: ${found.count} entries for ${expected.count} plants; they do not match`]
    }
    return [
      ...(await compare('names', 'SELECT key, id FROM names UNION ALL SELECT key, id FROM recent_names', names)),
      ...(await compare('tags', 'SELECT tag, id FROM tags', tags)),
      ...(await compare('words', "SELECT '', rowid FROM words", ids)),
      ...(unfound > 0 ? [`words: a search does not find ${unfound} of the plants that the check looked up`] : []),
    ]
  }

  /** Looks the plant up by its first words, as a search would. */
  #isFound(plant: NewPlant): boolean {
    const { statements } = this.#view
    const expression = matchExpression({ tags: [], words: plantWords(plant) }, negativeIn(statements))
    if (expression === undefined) return true
    const sql = 'SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?'
    return statements.get(sql, expression, plant.id) !== undefined
  }
}

const part = (found: string): CheckedPart => ({ part: 'index', found, faults: [] })

async function turn({ signal }: LongWork): Promise<void> {
  await nextTurn()
  signal?.throwIfAborted()
}

/** Yields the plants in their states at the position of the index, except those that its scan has not reached. */
function* plantsAt(store: StatementCache, changes: ChangeReader, state: IndexState): Iterable<NewPlant> {
  const changed = new Map<bigint, NewPlant | undefined>()
  for (const { ids, before } of changes.after(state.position)) {
    for (const id of ids) if (!changed.has(id)) changed.set(id, before)
  }
  const isReached = (id: bigint) => !state.isScanning || (state.scannedTo !== undefined && id <= state.scannedTo)
  for (const row of store.iterate('SELECT id, name, tag FROM plants')) {
    const id = row[0] as bigint
    if (changed.has(id) || !isReached(id)) continue
    yield plantOf(row)
  }
  for (const plant of changed.values()) if (plant !== undefined && isReached(plant.id)) yield plant
}

/** A digest of a set of entries, whatever their order. */
class EntryDigest {
  #first = 0
  #second = 0
  count = 0

  add(text: string, id: bigint): void {
    const [first, second] = murmur3(`${id} ${text}`, 0x2545f491, 0x4f6cdd1d)
    this.#first = (this.#first + first) % 2 ** 32
    this.#second = (this.#second + second) % 2 ** 32
    this.count++
  }

  equals(other: EntryDigest): boolean {
    return this.count === other.count && this.#first === other.#first && this.#second === other.#second
  }
}
