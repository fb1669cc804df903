import { signal } from '@preact/signals'
import type { ChangeEntry, PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
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
/** How far back the view looks, which is as long as the service keeps changes by default. */
export const LONGEST = 30 * 24 * 60 * 60 * 1000
/** The most actions that the view lists. */
const MOST_LISTED = 200
/** The most plants whose changes the page reads to undo an action: two states of each take memory. */
const MOST_UNDONE = 200_000

interface OpenAction extends Action {
  /** Its changes since the last pause. */
  readonly burst: number
  /** The action that this burst goes on with, if it becomes as large as one of an import. */
  readonly follows: OpenAction | undefined
}

/** The actions that the log of changes has, read from its oldest change on. A later reading goes on behind the last. */
export class LastActions {
  /** The newest first. */
  readonly actions = signal<readonly Action[]>([])
  /** The time of the oldest change that the log has; undefined before it is known, and for an empty log. */
  readonly oldest = signal<string | undefined>(undefined)
  /** The number of changes that were read; undefined while none are being read. */
  readonly count = signal<number | undefined>(undefined)
  #last: string | undefined
  /** The last action of each token. */
  readonly #open = new Map<string, OpenAction>()
  #closed: readonly Action[] = []

  get hasRead(): boolean {
    return this.#last !== undefined
  }

  /** Reads what was added to the log. */
  async update(client: PlantstoreClient, abort: AbortSignal): Promise<void> {
    const until = Date.now()
    let count = 0
    this.count.value = 0
    try {
      const pages = client.listChanges({ after: this.#last, limit: PAGE }, { signal: abort }).pages()
      for await (const page of pages) {
        this.add(page)
        count += page.length
        this.count.value = count
        const last = page.at(-1)
        // Others may write without a pause.
        if (last !== undefined && Date.parse(last.time) > until) break
      }
    } finally {
      this.count.value = undefined
    }
  }

  /** Takes entries that follow those before. */
  add(entries: readonly ChangeEntry[]): void {
    for (const entry of entries) this.#take(entry)
    const since = Date.now() - LONGEST
    this.actions.value = [...[...this.#open.values()].filter(isOfMany), ...this.#closed]
      .filter(({ ended }) => ended >= since)
      .toSorted((a, b) => b.ended - a.ended)
      .slice(0, MOST_LISTED)
  }

  #take({ token, type, position, plant, before, time: at }: ChangeEntry): void {
    const time = Date.parse(at)
    this.oldest.value ??= at
    const open = this.#open.get(token)
    const pause = open === undefined ? Number.POSITIVE_INFINITY : time - open.ended
    const one = { ...NONE, [type]: 1 }
    if (open !== undefined && pause <= PAUSE) {
      const grown = { ...open, counts: sumOf(open.counts, one), burst: open.burst + 1, ended: time, until: position }
      this.#open.set(token, grown.burst === BURST ? this.#joined(grown) : grown)
    } else {
      const follows = open !== undefined && open.burst >= BURST && pause <= PAUSE_OF_BURSTS ? open : undefined
      if (open !== undefined && isOfMany(open)) this.#closed = [open, ...this.#closed].slice(0, MOST_LISTED)
      const name = (plant ?? before)?.name ?? ''
      const place = { first: position, after: this.#last, until: position }
      this.#open.set(token, { token, ended: time, counts: one, name, ...place, burst: 1, follows })
    }
    this.#last = position
  }

  /** Joins an action with the burst that it goes on with. */
  #joined(action: OpenAction): OpenAction {
    const { follows, counts, ended, until, burst } = action
    if (follows === undefined) return action
    this.#closed = this.#closed.filter((each) => each !== follows)
    return { ...follows, counts: sumOf(follows.counts, counts), ended, until, burst, follows: undefined }
  }
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
