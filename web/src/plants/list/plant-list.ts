import { computed, signal } from '@preact/signals'
import type { ChangeEntry, ListedPlant, Listing, PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import type { Content } from '../../offline/change.ts'
import { see, seenBefore } from '../../offline/seen.ts'
import { waitingFor } from '../../offline/waiting.ts'
import { afterLoss, whenAway } from '../../page/connection.ts'
import { isAbort, isRefusal, said } from '../../page/said.ts'
import { findById, withFirst } from './by-id.ts'
import { drafts } from './drafts.ts'
import { type Filter, findSame, wantedBy } from './filter.ts'
import { focusRow } from './grid-keys.ts'

/** A page of plants. */
export interface Chunk {
  readonly key: number
  readonly plants: readonly ListedPlant[]
}

const PAGE = 100
/** The most plants that the table reads again when others change some: those of one request. */
const MOST_REFRESHED = 1000
/** ms in which changes of others gather before the table reads its plants again. */
const GATHER = 500

/** Plants that are shown, and have to be read again after a change of many. */
export type Reloaded = Pick<PlantList, 'reload'>

/** The list that the table shows. */
let shown: PlantList | undefined

/** The plants of a filter, read page by page on demand. Those of the old filter stay until the new ones arrive. */
export class PlantList {
  /** The pages read so far, with the places of the plants removed since. */
  readonly #read = signal<readonly Chunk[]>([])
  readonly #removed = signal<ReadonlySet<bigint>>(new Set())
  readonly chunks = computed((): readonly Chunk[] => {
    const removed = this.#removed.value
    if (removed.size === 0) return this.#read.value
    return this.#map((plants) => plants.filter(({ id }) => !removed.has(id)))
  })
  /** The plants of all of them. */
  readonly plants = computed((): readonly StoredPlant[] => this.chunks.value.flatMap(({ plants }) => plants))
  /** The filter that has found the pages. */
  readonly #foundBy = signal<Filter | undefined>(undefined)
  readonly state = signal<'searching' | 'loading' | 'more' | 'whole' | 'failed'>('searching')
  readonly fault = signal('')
  /** Where the rows are what this device has seen before: since when, in milliseconds since 1970. */
  readonly seenSince = signal<number | undefined>(undefined)
  /** By the last change: the time of the oldest change that the service keeps, at which the list ends. */
  readonly reachesTo = signal<string | undefined>(undefined)
  /** The number of searches so far. */
  readonly searches = signal(0)
  readonly #client: PlantstoreClient
  #endWaiting: (() => void) | undefined
  #filter: Filter | undefined
  #foundById: bigint | undefined
  #listing: Listing<ListedPlant> | undefined
  #next: string | undefined
  #ending = new AbortController()
  #key = 0
  /** Plants that others have put, and that the table may have to show. */
  readonly #awaited = new Set<bigint>()
  /** Plants that the person has brought back: the word of their deletion may come after that. */
  readonly #restored = new Set<bigint>()
  /** The requests for plants under way. */
  #reads = 0
  /** What plants have become since the oldest of them began, as its answer may be older. null: the plant is gone. */
  readonly #newer = new Map<bigint, StoredPlant | null>()
  /** Whether others have changed plants since such a request began, so that its answer may be too old. */
  #isBehind = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: PlantstoreClient) {
    this.#client = client
  }

  /** Whether the list shows what a filter finds, and not yet, or still, what another one has found. */
  shows(filter: Filter): boolean {
    return this.#foundBy.value !== undefined && findSame(this.#foundBy.value, filter)
  }

  /** Shows the plants of a filter, and aborts the previous search. */
  show(filter: Filter): void {
    void this.#search(filter)
  }

  /** Reads a plant, and shows it first. @throws as the client does */
  async open(id: bigint, signal: AbortSignal): Promise<void> {
    this.#reads += 1
    try {
      const { plant } = await this.#client.getPlant(id, { signal })
      for (const each of this.#asOfNow([plant])) {
        void see([each])
        this.putFirst(each)
      }
    } finally {
      this.#endRead()
    }
  }

  /** Loads the next page, unless there is none or it is loading already. */
  more(): void {
    if (this.state.value === 'more') void this.#load('loading')
  }

  /** Repeats the request that failed. */
  retry(): void {
    if (this.#next === undefined && this.#filter !== undefined) this.show(this.#filter)
    else void this.#load('loading')
  }

  /** Shows changes of others. An edit that has begun keeps its row. */
  follow(entries: readonly ChangeEntry[]): void {
    // A change moves its plant to the top of the order by change.
    if (this.#reads > 0 || this.#filter?.sort === '-changed') this.#isBehind = true
    for (const { plant, before } of entries) {
      if (plant === undefined) {
        if (before === undefined || !this.has(before.id)) continue
        if (this.#restored.has(before.id)) void this.#refreshEach([before])
        else if (!drafts.value.has(String(before.id))) this.remove(before.id)
        continue
      }
      // Removed here or by others, and there again: it has a place.
      this.#show(plant.id)
      if (this.has(plant.id)) this.replace(plant)
      else if (this.#filter !== undefined) this.#awaited.add(plant.id)
    }
    this.#catchUpLater()
  }

  #catchUpLater(): void {
    if (this.#awaited.size > 0 || this.#isBehind) this.#timer ??= setTimeout(() => this.#catchUp(), GATHER)
  }

  #catchUp(): void {
    this.#timer = undefined
    // This tab has shown its own plants by now.
    const isMissing = [...this.#awaited].some((id) => !this.has(id))
    this.#awaited.clear()
    if (isMissing || this.#isBehind) void this.refresh()
  }

  /** Reads the plants that the table has again, and moves nothing that need not move. Leaves a long table as it is. */
  async refresh(): Promise<void> {
    this.#isBehind = this.#reads > 0
    if (this.#isBehind) return
    const { signal: ended } = this.#ending
    const chunks = this.#read.value.length
    const count = this.#read.value.reduce((sum, { plants }) => sum + plants.length, 0)
    const isIdle = this.state.value === 'more' || this.state.value === 'whole'
    if (this.#filter === undefined) return await this.#refreshEach(this.#read.value.flatMap(({ plants }) => plants))
    if (chunks === 0 || !isIdle || count > MOST_REFRESHED) return
    const query = { ...wantedBy(this.#filter), sort: this.#filter.sort, limit: Math.max(PAGE, count) }
    const listing = this.#client.listPlants(query, { signal: ended })
    this.#reads += 1
    try {
      const [found, { items, next }] = await Promise.all([
        this.#foundById === undefined ? undefined : findById(this.#client, this.#filter, ended),
        listing.page(),
      ])
      if (ended.aborted) return
      // The person has scrolled or added a plant meanwhile, so the table has others now, or awaits its next page.
      if (this.#read.value.length !== chunks || this.#reads > 1) {
        this.#isBehind = true
        return
      }
      const plants = this.#asOfNow(withFirst(found, items))
      void see(plants)
      // Another client may have put those again that were removed before.
      this.#showRows(plants)
      this.#listing = listing
      this.#next = next
      this.state.value = next === undefined ? 'whole' : 'more'
    } catch {
      // The table stays as it is; the next change tries again.
    } finally {
      this.#endRead()
    }
  }

  /** Reads plants again, each by itself, also those removed before. */
  async #refreshEach(plants: readonly StoredPlant[]): Promise<void> {
    const { signal } = this.#ending
    for (const { id } of plants) {
      this.#reads += 1
      try {
        const { plant } = await this.#client.getPlant(id, { signal })
        if (this.#newer.has(id)) continue
        this.#show(id)
        this.#put(plant)
      } catch (error) {
        const isGone = isRefusal(error, 40402) && !this.#newer.has(id)
        // A new plant that waits has its row, too.
        if (isGone && !drafts.value.has(String(id)) && !waitingFor(id)?.wanted) this.#hide(id)
      } finally {
        this.#endRead()
      }
    }
  }

  #endRead(): void {
    this.#reads -= 1
    if (this.#reads === 0) this.#newer.clear()
    this.#catchUpLater()
  }

  /** Reads the plants of the filter again. */
  async reload(): Promise<void> {
    if (shown !== undefined && shown !== this) return shown.reload()
    if (this.#filter !== undefined) await this.#search(this.#filter)
  }

  stop(): void {
    this.#endWaiting?.()
    this.#endWaiting = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#ending.abort()
    if (shown === this) shown = undefined
  }

  replace(plant: StoredPlant): void {
    this.#knowNewer(plant.id, plant)
    this.#put(plant)
  }

  /** Shows what the store has under an id by now, if the table has a row for it. @param content null: nothing */
  take(id: bigint, content: Content | null): void {
    if (!this.has(id)) return
    if (content === null) this.remove(id)
    else this.replace({ ...content, id })
  }

  remove(id: bigint): void {
    this.#knowNewer(id, null)
    this.#hide(id)
  }

  #put(plant: StoredPlant): void {
    this.#read.value = this.#map((plants) => plants.map((each) => (each.id === plant.id ? plant : each)))
  }

  #hide(id: bigint): void {
    this.#removed.value = new Set([...this.#removed.value, id])
  }

  /** Shows a removed plant again where it was. */
  #show(id: bigint): void {
    if (this.#removed.value.has(id)) this.#removed.value = this.#removed.value.difference(new Set([id]))
  }

  /** Shows a removed plant again where it was. The table reads its rows again if it reads, or has read, them since. */
  async putBack(plant: StoredPlant): Promise<void> {
    const { id } = plant
    this.#restored.add(id)
    this.#knowNewer(id, plant)
    this.#show(id)
    if (shown !== undefined && (shown !== this || !this.has(id) || this.#reads > 0)) await shown.reload()
  }

  /** Shows a new plant first, regardless of the order of the table. */
  putFirst(plant: StoredPlant): void {
    const others = this.#map((plants) => plants.filter((each) => each.id !== plant.id))
    this.#show(plant.id)
    this.#key += 1
    this.#read.value = [{ key: this.#key, plants: [plant] }, ...others]
  }

  #knowNewer(id: bigint, plant: StoredPlant | null): void {
    if (this.#reads > 0) this.#newer.set(id, plant)
  }

  /** What has been read, as it is by now. */
  #asOfNow(plants: readonly ListedPlant[]): readonly ListedPlant[] {
    return plants.flatMap((plant) => {
      const newer = this.#newer.get(plant.id)
      return newer === undefined ? plant : (newer ?? [])
    })
  }

  /** Whether a page read so far contains the plant. */
  has(id: bigint): boolean {
    return this.chunks.value.some(({ plants }) => plants.some((plant) => plant.id === id))
  }

  #map(change: (plants: readonly ListedPlant[]) => readonly ListedPlant[]): readonly Chunk[] {
    return this.#read.value.map(({ key, plants }) => ({ key, plants: change(plants) }))
  }

  /** Shows the plants instead of all others. The person may be in a row: it stays if its plant is among them. */
  #showRows(plants: readonly ListedPlant[]): void {
    const focused = document.activeElement?.closest<HTMLElement>('[role=row][data-id]')?.dataset['id']
    this.#removed.value = new Set()
    this.#read.value = [{ key: this.#read.value[0]?.key ?? this.#key, plants }]
    if (focused !== undefined) focusRow(focused)
  }

  #search(filter: Filter): Promise<void> {
    shown = this
    // While the service was lost, others may have changed plants.
    this.#endWaiting ??= afterLoss(() => void this.refresh())
    this.searches.value += 1
    this.#ending.abort()
    this.#ending = new AbortController()
    this.#filter = filter
    this.#isBehind = false
    this.#next = undefined
    const query = { ...wantedBy(filter), sort: filter.sort, limit: PAGE }
    this.#listing = this.#client.listPlants(query, { signal: this.#ending.signal })
    return this.#load('searching')
  }

  async #load(state: 'searching' | 'loading'): Promise<void> {
    const listing = this.#listing
    const filter = this.#filter
    const { signal: ended } = this.#ending
    this.state.value = state
    this.#reads += 1
    const end = whenAway(() => void this.#recall(state, filter, ended))
    try {
      const [found, page] = await Promise.all([
        state === 'searching' && filter !== undefined ? findById(this.#client, filter, ended) : undefined,
        listing?.page(this.#next),
      ])
      if (ended.aborted) return
      const { items, next, since } = page ?? { items: [], next: undefined, since: undefined }
      this.reachesTo.value = since
      const plants = this.#asOfNow(withFirst(found, items))
      void see(plants)
      this.seenSince.value = undefined
      if (state === 'searching') {
        this.#foundById = found?.id
        this.#foundBy.value = filter
        this.#showRows(plants)
      } else {
        const others = plants.filter(({ id }) => id !== this.#foundById)
        this.#key += 1
        this.#read.value = [...this.#read.value, { key: this.#key, plants: others }]
      }
      this.#next = next
      this.state.value = next === undefined ? 'whole' : 'more'
    } catch (error) {
      if (isAbort(error) || ended.aborted) return
      this.fault.value = said(error)
      this.state.value = 'failed'
    } finally {
      end()
      this.#endRead()
    }
  }

  /** Shows what this device has seen before, until the service answers the search. */
  async #recall(state: 'searching' | 'loading', filter: Filter | undefined, ended: AbortSignal): Promise<void> {
    if (state === 'loading' || filter === undefined) return
    const seen = await seenBefore(filter)
    const isAnswered = this.state.value !== 'searching' && this.state.value !== 'failed'
    if (seen === undefined || ended.aborted || isAnswered) return
    this.#foundBy.value = filter
    this.#showRows(seen.plants)
    this.seenSince.value = seen.since
  }
}
