import type { StartFollower } from './search-index/search-index.ts'
import type { Writer } from './write/adaptive-writer.ts'

export interface SqliteStoreOptions {
  /** Creates that may wait at once, and changes as many. */
  readonly maxWaiting: number
  /** Milliseconds that queued reads, and queued writes of more than one commit, may take; unbounded by default. */
  readonly maxDelay?: number
  /** Maximum number of creates in one commit; 1000 by default. */
  readonly maxGroup?: number
  /** Whether to take the lock that keeps a second service away from the store. */
  readonly serving: boolean
  /** Whether to create the store if it does not exist. */
  readonly create: boolean
  /** Starts the writer; an AdaptiveWriter by default. */
  readonly startWriter?: (path: string, onFatal: (error: Error) => void) => Writer
  /** Starts the follower, which updates the search index; a thread by default. */
  readonly startFollower?: StartFollower
  /** Milliseconds for which the log of changes keeps changes that the search index no longer needs; 0 by default. */
  readonly changesKeep?: number
  /** Called once when the store can't continue: a failed fsync, a corrupt or removed file. Only a restart helps. */
  readonly onFatal: (error: Error) => void
  /** Called after the store was created. */
  readonly onMade?: () => void
  /** Called with a message for the operator, who need not act on it at once. */
  readonly onNotice?: (text: string) => void
}
