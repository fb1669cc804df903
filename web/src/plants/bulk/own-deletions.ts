import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { session } from '../../session/session.ts'
import type { Change } from './change.ts'

/** Entries of one request, the most that the service gives. */
const PAGE = 1000
/** ms after which the log certainly has a commit: on PostgreSQL it shows one up to 50 ms later. */
const LAG = 100
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
      const { value } = await this.#client.changes({ after: 'now', signal: ended, onPosition }).next()
      if (value) onPosition(value.position)
    } catch {
      // The position came, or none will.
    }
  }

  /** @param gone how many of the plants were not there @returns all of them where the log does not tell */
  async among(done: readonly Change[], gone: number): Promise<readonly Change[]> {
    const { value: current } = session
    if (gone === 0 || this.#since === undefined || current.kind !== 'signed-in') return done
    const ids = new Set<bigint | undefined>()
    await new Promise((resolve) => setTimeout(resolve, LAG))
    try {
      for await (const { type, token, before } of this.#client.listChanges({ after: this.#since, limit: PAGE })) {
        if (type === 'plant.deleted' && token === current.own.id) ids.add(before?.id)
      }
    } catch {
      // Where too few are known, the undo brings back what is gone, too.
    }
    const own = done.filter(({ before }) => ids.has(before?.id))
    return own.length < done.length - gone ? done : own
  }
}
