import { signal } from '@preact/signals'
import type { ChangeEntry, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { isSame } from '../offline/change.ts'
import { PageError } from '../page/said.ts'
import type { Change } from '../plants/bulk/change.ts'

/** Changes of one token that follow each other closely: an import, or a change of many plants. */
export interface Action {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly ended: number
  readonly counts: Readonly<Record<ChangeEntry['type'], number>>
  /** The position of its first change. */
  readonly first: string
  /** The position before its first change; undefined for the oldest change that the log has. */
  readonly after: string | undefined
  /** The position of its last change. */
  readonly until: string
  /** The name of its first plant. */
  readonly name: string
}

/**
 * Milliseconds between two changes of one action, at most. A person needs longer from one action to the next. Imports go
 * on after longer pauses too while the machine is busy: at eight times its load, and with another writer, one of 50,000
 * plants paused for up to 9.4 s. So bursts of changes that are as large as an import's belong together after more.
 */
const PAUSE = 3000
const PAUSE_OF_BURSTS = 15_000
const BURST = 250
/** Entries of one request, the most that the service gives. */
const PAGE = 1000
/** Pages in turn with less, which only a log has that grows as fast as the page reads it. */
const MOST_SHORT = 10
/** How far back the view looks, which is as long as the service keeps changes by default. */
const LONGEST = 30 * 24 * 60 * 60 * 1000
/** The most actions that the view lists. */
const MOST_LISTED = 200
/** The most plants whose changes the page reads to undo an action: two states of each take memory. */
const MOST_UNDONE = 200_000

interface OpenAction extends Action {
  /** Its changes since the last pause. */
  readonly burst: number
  /** The action that this burst goes on with, if it becomes as large as one of an import. */
  readonly follows: OpenAction | undefined
  /** The plants before it, by their ids; null: none. */
  readonly before: Map<bigint, StoredPlant | null>
}

/** The actions that the log of changes has, read from its oldest change on. A later reading goes on behind the last. */
export class LastActions {
  /** The newest first. */
  readonly actions = signal<readonly Action[]>([])
  /** The time of the oldest change that the log has; undefined before it is known, and for an empty log. */
  readonly oldest = signal<string | undefined>(undefined)
  /** The number of changes that were read; undefined while none are being read, and only then are the actions whole. */
  readonly count = signal<number | undefined>(undefined)
  /** Milliseconds since 1970 by the service: the device may have another time. */
  #latest = 0
  #last: string | undefined
  /** Whether the log had no end when it was read. */
  #isBehind = false
  #reading: Promise<void> | undefined
  /** The last action of each token. */
  readonly #open = new Map<string, OpenAction>()
  #closed: readonly Action[] = []

  get hasRead(): boolean {
    return this.#last !== undefined
  }

  /** Whether the log has no changes any more of a time that the view looks back to. */
  get isCut(): boolean {
    return this.oldest.value !== undefined && Date.parse(this.oldest.value) > this.#latest - LONGEST
  }

  /** Reads what was added to the log, after what is being read now. */
  update(client: PlantstoreClient, abort: AbortSignal): Promise<void> {
    const before = this.#reading?.catch(() => {})
    this.#reading = (before ?? Promise.resolve()).then(() => this.#read(client, abort))
    return this.#reading
  }

  async #read(client: PlantstoreClient, abort: AbortSignal): Promise<void> {
    let count = 0
    let shortPages = 0
    this.count.value = 0
    try {
      const pages = client.listChanges({ after: this.#last, limit: PAGE }, { signal: abort }).pages()
      for await (const page of pages) {
        // The answer may have come before the reading ended.
        abort.throwIfAborted()
        this.add(page)
        count += page.length
        this.count.value = count
        shortPages = page.length < PAGE ? shortPages + 1 : 0
        // Others write without a pause, and may be in the middle of their actions.
        if (shortPages === MOST_SHORT) break
      }
      this.#isBehind = shortPages === MOST_SHORT
      this.add([])
    } finally {
      this.count.value = undefined
    }
  }

  /** Takes entries that follow those before. */
  add(entries: readonly ChangeEntry[]): void {
    for (const entry of entries) this.#take(entry)
    const since = this.#latest - LONGEST
    const until = this.#isBehind ? this.#latest - PAUSE_OF_BURSTS : this.#latest
    this.actions.value = [...[...this.#open.values()].filter(isOfMany), ...this.#closed]
      .filter(({ ended }) => ended >= since && ended <= until)
      .toSorted((a, b) => b.ended - a.ended)
      .slice(0, MOST_LISTED)
  }

  #take(entry: ChangeEntry): void {
    const { token, type, position, plant, before, time: at } = entry
    const time = Date.parse(at)
    this.oldest.value ??= at
    this.#latest = Math.max(this.#latest, time)
    const open = this.#open.get(token)
    const pause = open === undefined ? Number.POSITIVE_INFINITY : time - open.ended
    const isUndo = open !== undefined && takesBack(entry, open)
    const one = { ...NONE, [type]: 1 }
    if (open !== undefined && pause <= PAUSE && !isUndo) {
      const grown = { ...open, counts: sumOf(open.counts, one), burst: open.burst + 1, ended: time, until: position }
      note(entry, grown)
      this.#open.set(token, grown.burst === BURST ? this.#joined(grown) : grown)
    } else {
      const isLate = open !== undefined && open.burst >= BURST && pause <= PAUSE_OF_BURSTS
      const follows = isLate && !isUndo ? open : undefined
      if (follows === undefined) open?.before.clear()
      if (open !== undefined && isOfMany(open)) this.#closed = [open, ...this.#closed].slice(0, MOST_LISTED)
      const name = (plant ?? before)?.name ?? ''
      const place = { first: position, after: this.#last, until: position }
      const begun = { token, ended: time, counts: one, name, ...place, burst: 1, follows, before: new Map() }
      note(entry, begun)
      this.#open.set(token, begun)
    }
    this.#last = position
  }

  /** Joins an action with the burst that it goes on with. */
  #joined(action: OpenAction): OpenAction {
    const { follows, counts, ended, until, burst } = action
    if (follows === undefined) return action
    this.#closed = this.#closed.filter((each) => each !== follows)
    for (const [id, old] of action.before) if (!follows.before.has(id)) follows.before.set(id, old)
    return { ...follows, counts: sumOf(follows.counts, counts), ended, until, burst, follows: undefined }
  }
}

/** Notes what a plant was before an action that changes it. */
function note({ plant, before }: ChangeEntry, action: OpenAction): void {
  const id = (plant ?? before)?.id
  if (id !== undefined && !action.before.has(id) && action.before.size < MOST_UNDONE)
    action.before.set(id, before ?? null)
}

/** Whether an entry makes a plant what it was before an action: so an undo begins. */
function takesBack({ plant, before }: ChangeEntry, action: OpenAction): boolean {
  const id = (plant ?? before)?.id
  const old = id === undefined ? undefined : action.before.get(id)
  return old !== undefined && isSame(old, plant ?? null)
}

const NONE: Action['counts'] = { 'plant.created': 0, 'plant.updated': 0, 'plant.deleted': 0 }

const sumOf = (one: Action['counts'], other: Action['counts']): Action['counts'] => ({
  'plant.created': one['plant.created'] + other['plant.created'],
  'plant.updated': one['plant.updated'] + other['plant.updated'],
  'plant.deleted': one['plant.deleted'] + other['plant.deleted'],
})

/** One change alone is in the history of its plant, which undoes it. */
const isOfMany = ({ counts }: Action): boolean => Object.values(counts).reduce((sum, count) => sum + count, 0) > 1

/**
 * Reads the changes of an action, one for each plant: from the state before the action to that after it.
 *
 * @param onRead called with the number of plants so far
 * @throws PageError for more plants than the page undoes
 */
export async function changesOf(
  client: PlantstoreClient,
  { token, after, until }: Action,
  onRead: (count: number) => void,
  abort: AbortSignal,
): Promise<readonly Change[]> {
  const changes = new Map<bigint, Change>()
  for await (const page of client.listChanges({ after, limit: PAGE }, { signal: abort }).pages()) {
    for (const { position, token: by, plant, before } of page) {
      const id = (plant ?? before)?.id
      // Positions of one history compare as texts.
      if (position > until || by !== token || id === undefined) continue
      const known = changes.get(id)
      changes.set(id, { before: known === undefined ? before : known.before, after: plant })
    }
    if (changes.size > MOST_UNDONE) throw new PageError(say('actions.tooMany', { most: MOST_UNDONE }))
    onRead(changes.size)
    if ((page.at(-1)?.position ?? until) >= until) break
  }
  return [...changes.values()].filter(
    ({ before: old, after: made }) => old?.name !== made?.name || old?.tag !== made?.tag,
  )
}
