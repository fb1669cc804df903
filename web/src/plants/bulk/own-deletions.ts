import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { session } from '../../session/session.ts'
import type { Change } from './change.ts'

/** Entries of one request, the most that the service gives. */
const PAGE = 1000
/** Readings of the log. On PostgreSQL it shows a commit up to 50 ms later. */
const READINGS = 10
/** ms between two of them. */
const PAUSE = 100
/** ms for which a deletion waits for the position: a proxy may hold a stream back, and the service has few. */
const LONGEST = 3000

/**
 * Tells the plants that this person has deleted from those that others had deleted already: the report of a deletion only
 * counts these, and an undo must not bring them back.
 */
export class OwnDeletions {
  readonly #client: PlantstoreClient
  /** The position in the log before the first deletion; undefined where the service keeps no log. */
  #since: string | undefined

  constructor(client: PlantstoreClient) {
    this.#client = client
  }

  /** Called before the first request. A later attempt at what is left begins at the same position. */
  async begin(signal: AbortSignal): Promise<void> {
    if (this.#since !== undefined) return
    const ending = new AbortController()
    const onPosition = (position: string) => {
      this.#since = position
      ending.abort()
    }
    try {
      const ended = AbortSignal.any([signal, ending.signal, AbortSignal.timeout(LONGEST)])
      for await (const { position } of this.#client.changes({ after: 'now', signal: ended, onPosition })) {
        this.#since = position
        return
      }
    } catch {
      // The position came, or none will.
    }
  }

  /** @param gone how many of the plants were not there @returns all of them where the log does not tell */
  async among(done: readonly Change[], gone: number): Promise<readonly Change[]> {
    if (gone === 0 || this.#since === undefined) return done
    try {
      for (let i = 0; i < READINGS; i++) {
        const ids = await this.#read(this.#since)
        const own = done.filter(({ before }) => before !== undefined && ids.has(before.id))
        if (own.length >= done.length - gone) return own
        await new Promise((resolve) => setTimeout(resolve, PAUSE))
      }
    } catch {
      // The undo brings back what is gone, too.
    }
    return done
  }

  async #read(after: string): Promise<ReadonlySet<bigint>> {
    const own = session.value.kind === 'signed-in' ? session.value.own.id : undefined
    const ids = new Set<bigint>()
    for await (const { type, token, before } of this.#client.listChanges({ after, limit: PAGE })) {
      if (type === 'plant.deleted' && token === own && before !== undefined) ids.add(before.id)
    }
    return ids
  }
}
