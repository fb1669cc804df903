import { ChangeReader } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { StatementCache } from '../statement-cache.ts'
import { IndexView } from './index-view.ts'
import type { IndexProgress } from './indexer.ts'
import type { Follower } from './search-index.ts'

/** Milliseconds between two looks at the index. */
const POLL_INTERVAL = 20

/**
 * Watches an index that another process updates. An index that is missing or being built counts as complete: its
 * process takes too long to wait for.
 */
export function watchIndex(storePath: string, onProgress: (progress: IndexProgress) => void): Follower {
  const store = openReader(storePath)
  const changes = new ChangeReader(new StatementCache(store))
  const identity = changes.identity()
  const view = new IndexView(storePath)
  let timer: NodeJS.Timeout | undefined
  const look = () => {
    const index = view.begin(identity)
    view.end()
    const position = index === undefined || index.isScanning ? changes.head() : index.position
    const behind = changes.head() - position
    timer = behind > 0 ? setTimeout(look, POLL_INTERVAL) : undefined
    onProgress({ inode: -1, position, behind, indexed: 0, share: 1, isDone: behind === 0 })
  }
  return {
    wake: () => {
      timer ??= setTimeout(look, POLL_INTERVAL)
    },
    rebuild: () => {},
    giveSpace: () => {},
    restartLog: async () => {},
    close: async () => {
      clearTimeout(timer)
      view.close()
      store.close()
    },
  }
}
