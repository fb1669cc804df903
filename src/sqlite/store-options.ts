import type { StartFollower } from './search-index/search-index.ts'
import type { Writer } from './write/adaptive-writer.ts'

export interface SqliteStoreOptions {
  readonly maxWaiting: number
  /** Milliseconds that queued reads, and queued writes of more than one commit, may take; any time by default. */
  readonly maxDelay?: number
  /** Creates in one commit. With 1, each create has a commit of its own. */
  readonly maxGroup?: number
  /** Takes the lock that keeps a second server away from the file. */
  readonly serving: boolean
  /** Creates the store if it does not exist. */
  readonly create: boolean
  /** Starts the writer; an AdaptiveWriter by default. */
  readonly startWriter?: (path: string, onFatal: (error: Error) => void) => Writer
  /** Starts what updates the search index; a thread by default. */
  readonly startFollower?: StartFollower
  /** Milliseconds that the log of changes keeps what the search index no longer needs; 0 by default. */
  readonly changesKeep?: number
  /** Called once when the store can't continue: a failed fsync, a corrupt or removed file. Only a restart helps. */
  readonly onFatal: (error: Error) => void
  /** Called after the store was created. */
  readonly onMade?: () => void
  /** Called with a message that the operator should know but need not act on at once. */
  readonly onNotice?: (text: string) => void
}
