import type { StartFollower } from './search-index/search-index.ts'
import type { Writer } from './write/adaptive-writer.ts'

export interface SqliteStoreOptions {
  readonly maxWaiting: number
  /** Creates in one commit; 1 gives each its own. */
  readonly maxGroup?: number
  /** Hold the lock that keeps a second server away from the file. */
  readonly serving: boolean
  /** Make the store where there is none. */
  readonly create: boolean
  /** Where the writer runs: where the disk lets it, if nothing else is said. */
  readonly startWriter?: (path: string, onFatal: (error: Error) => void) => Writer
  /** Who makes the search index: a thread, if nothing else is said. */
  readonly startFollower?: StartFollower
  /** How long changes are kept in the log that the search index does not need any more, in milliseconds; 0 by default. */
  readonly changesKeep?: number
  /** Called once when the store can't go on: a failed fsync, a corrupt or vanished file. Only a restart mends it. */
  readonly onFatal: (error: Error) => void
  /** Called when there was no store yet and one was made. */
  readonly onMade?: () => void
  /** Told what the operator should know but need not act on at once. */
  readonly onNotice?: (text: string) => void
}
