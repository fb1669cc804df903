import { type Action, type ActionLog, type ActionQuery, noAction, type UndoStep } from './actions.ts'
import { type ChangeEntry, type ChangeLog, within } from './changes.ts'
import { covers, outside, type Part } from './part.ts'
import type {
  ChangeOutcome,
  CreateOptions,
  CreateResult,
  ImportedPlant,
  ImportMode,
  ImportResult,
  NewPlant,
  PlantChange,
} from './plant.ts'
import {
  compareCodePoints,
  isListed,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type TagQuery,
  wantedTags,
} from './plant-query.ts'
import type { DryRun, LazySignal, Store, StorePool, TagCount } from './store.ts'
import type { Actor } from './token.ts'

/** The store as an actor has it. */
export const storeOf = (store: Store, { part }: Actor): Store =>
  part === undefined ? store : new PartStore(store, part)

/**
 * The store as a token with a part has it: reads answer as a store that has the plants of the part alone, and a write
 * keeps to the part. Free ids are found over all plants.
 */
class PartStore implements Store {
  readonly #store: Store
  readonly #part: Part
  readonly tokens: Store['tokens']
  readonly ids: Store['ids']
  readonly webhooks: Store['webhooks']
  readonly pool?: StorePool
  readonly changes: ChangeLog | undefined
  readonly actions: ActionLog | undefined

  constructor(store: Store, part: Part) {
    this.#store = store
    this.#part = part
    const { tokens, ids, webhooks, pool, changes, actions } = store
    this.tokens = tokens
    this.ids = ids
    this.webhooks = webhooks
    if (pool !== undefined) this.pool = pool
    this.changes = changes && changesIn(part, changes)
    this.actions = changes && actions && new PartActions(actions, changes, part)
  }

  async getPlant(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    const plant = await this.#store.getPlant(id, caller)
    return plant !== undefined && covers(this.#part, plant.tag) ? plant : undefined
  }

  listPlants(query: PlantQuery, limit: number, caller?: LazySignal): Promise<readonly NewPlant[]> {
    return this.#store.listPlants({ ...query, part: this.#part }, limit, caller)
  }

  countMatches(filter: PlantFilter, max: number, signal?: AbortSignal): Promise<number> {
    return this.#store.countMatches({ ...filter, part: this.#part }, max, signal)
  }

  exportPlants(
    filter: PlantFilter,
    order: PlantOrder,
    signal?: AbortSignal,
    onPosition?: (position: string) => void,
  ): AsyncIterable<readonly NewPlant[]> {
    return this.#store.exportPlants({ ...filter, part: this.#part }, order, signal, onPosition)
  }

  countPlants(): Promise<number> {
    return this.countMatches({ tags: [], words: [] }, Number.MAX_SAFE_INTEGER)
  }

  /** Reads the texts of the part one after the other: as they are in the order of code points, so are their tags. */
  async listTags(query: TagQuery, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    const { tags, prefixes } = wantedTags({ tags: [], tagPrefix: query.prefix, part: this.#part }) ?? NO_TAGS
    const found: TagCount[] = []
    for (const text of [...tags, ...prefixes].sort(compareCodePoints)) {
      if (found.length >= limit) break
      if (prefixes.includes(text)) {
        found.push(...(await this.#store.listTags({ ...query, prefix: text }, limit - found.length, signal)))
      } else if (isListed(query, text)) {
        const plants = await this.#store.countMatches({ tags: [text], words: [] }, Number.MAX_SAFE_INTEGER, signal)
        if (plants > 0) found.push({ tag: text, plants })
      }
    }
    return found
  }

  createPlant(plant: NewPlant, options: CreateOptions, actor: Actor): Promise<CreateResult> {
    if (!covers(this.#part, plant.tag)) throw outside(plant.id)
    return this.#store.createPlant(plant, options, actor)
  }

  changePlant(change: PlantChange, actor: Actor): Promise<ChangeOutcome> {
    return this.#store.changePlant(change, actor)
  }

  importPlants(plants: readonly ImportedPlant[], mode: ImportMode, actor: Actor): Promise<ImportResult[]> {
    return this.#inPart(plants, mode, (own) => this.#store.importPlants(own, mode, actor))
  }

  afterImport(): Promise<void> {
    return this.#store.afterImport()
  }

  async startDryRun(mode: ImportMode): Promise<DryRun> {
    const part = this.#part
    const run = await this.#store.startDryRun(mode, part)
    return {
      importPlants: (plants) => this.#inPart(plants, mode, (own) => run.importPlants(own)),
      async *storedPlants(signal) {
        for await (const plants of run.storedPlants(signal)) yield plants.filter(({ tag }) => covers(part, tag))
      },
      close: () => run.close(),
    }
  }

  checkWritable(): Promise<void> {
    return this.#store.checkWritable()
  }

  checkSearchable(): Promise<void> {
    return this.#store.checkSearchable()
  }

  close(within?: number): Promise<void> {
    return this.#store.close(within)
  }

  /** Refuses the rows that would be outside of the part, and puts the others. */
  async #inPart(
    plants: readonly ImportedPlant[],
    mode: ImportMode,
    put: (plants: readonly ImportedPlant[]) => Promise<ImportResult[]>,
  ): Promise<ImportResult[]> {
    const isIn = ({ tag }: ImportedPlant) => mode === 'delete' || covers(this.#part, tag)
    const own = plants.filter(isIn)
    const results = own.length === 0 ? [] : await put(own)
    let at = 0
    return plants.map((plant) => (isIn(plant) ? (results[at++] as ImportResult) : outside(plant.id)))
  }
}

const NO_TAGS = { tags: [], prefixes: [] }

/** The most entries of a plant that one read of its history looks at, where a part has few of them. */
const MAX_LOOKED = 1000

const changesIn = (part: Part, log: ChangeLog): ChangeLog => ({
  end: () => log.end(),
  read: (request, signal) => log.read({ ...request, part }, signal),
  newest: (request, signal) => log.newest({ ...request, part }, signal),
  usage: () => log.usage(),

  async history(id, before, limit, signal) {
    const found: ChangeEntry[] = []
    for (let place = before; ; ) {
      signal?.throwIfAborted()
      const size = Math.max(limit, MAX_LOOKED)
      const page = await log.history(id, place, size, signal)
      found.push(...page.flatMap((entry) => within(part, entry) ?? []))
      place = page.at(-1)?.position
      if (page.length < size || found.length >= limit) return found.slice(0, limit)
    }
  },
})

/** The actions that have changed plants of a part, with its changes alone. */
class PartActions implements ActionLog {
  readonly #actions: ActionLog
  readonly #changes: ChangeLog
  readonly #part: Part

  constructor(actions: ActionLog, changes: ChangeLog, part: Part) {
    this.#actions = actions
    this.#changes = changes
    this.#part = part
  }

  async list(query: ActionQuery, limit: number, signal?: AbortSignal): Promise<readonly Action[]> {
    const found: Action[] = []
    for (let { after } = query; ; ) {
      const page = await this.#actions.list({ ...query, after }, limit, signal)
      for (const action of page) {
        const own = await this.#of(action, signal)
        if (own !== undefined) found.push(own)
        if (found.length === limit) return found
      }
      after = page.at(-1)
      if (page.length < limit) return found
    }
  }

  async get(id: string, signal?: AbortSignal): Promise<Action | undefined> {
    const action = await this.#actions.get(id, signal)
    return action && this.#of(action, signal)
  }

  async undo(id: string, from: string | undefined, actor: Actor, signal?: AbortSignal): Promise<UndoStep> {
    if (from === undefined && !(await this.#has(id, signal))) throw noAction(id)
    return this.#actions.undo(id, from, actor)
  }

  /**
   * The action with the number of its changes in the part, and the time of the last; undefined where it has none there.
   * `began` stays that of the whole action, by which lists are ordered.
   */
  async #of(action: Action, signal: AbortSignal | undefined): Promise<Action | undefined> {
    const counts = { created: 0, updated: 0, deleted: 0 }
    let own: Action | undefined
    for await (const { type, time } of this.#entries(action.id, signal)) {
      counts[COUNTED[type]]++
      own = { ...action, ended: time }
    }
    if (own === undefined) return undefined
    const { undoneBy } = action
    return {
      ...own,
      ...counts,
      undoneBy: undoneBy !== undefined && (await this.#has(undoneBy, signal)) ? undoneBy : undefined,
    }
  }

  async #has(id: string, signal: AbortSignal | undefined): Promise<boolean> {
    for await (const _ of this.#entries(id, signal)) return true
    return false
  }

  async *#entries(action: string, signal: AbortSignal | undefined): AsyncIterable<ChangeEntry> {
    const filter = { action, tags: [], part: this.#part, limit: MAX_LOOKED }
    for (let after: string | undefined; ; ) {
      signal?.throwIfAborted()
      const { entries, next, isEnd } = await this.#changes.read({ ...filter, after }, signal)
      yield* entries
      if (isEnd) return
      after = next
    }
  }
}

const COUNTED = { 'plant.created': 'created', 'plant.updated': 'updated', 'plant.deleted': 'deleted' } as const
