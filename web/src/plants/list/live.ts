import type { ChangeEntry, PlantstoreClient } from '../../../../client/src/index.ts'
import { pause } from '../../page/pause.ts'
import { isRefusal } from '../../page/said.ts'
import { nameHere } from '../../page/service.ts'
import type { Session } from '../../session/session.ts'
import type { PlantList } from './plant-list.ts'

/** Entries within one second after which the page reads the table again later, instead of following each of them. */
const MOST = 200
/** ms until the page follows again after so many entries, or after the service has refused a stream. */
const PAUSE = 10_000

/**
 * Keeps a table current while others change plants. Browsers allow six connections to a service, so all visible tabs of
 * a person share one stream: the tab that holds a lock reads it, and tells the others. Without locks, which browsers have
 * only on HTTPS and on the machine itself, each visible tab has its own stream. A hidden tab follows nothing, and reads
 * its table again when it is shown.
 *
 * A visitor of the public view follows nothing: the stream needs a token, and so does what it tells.
 *
 * @returns ends the following
 */
export function follow({ client, own, may }: Session, list: PlantList): () => void {
  if (!may('more')) return () => {}
  // Tabs may be signed in with different tokens.
  const name = own.id
  const channel = new BroadcastChannel(nameHere(`plantstore-changes-${name}`))
  let ending: AbortController | undefined
  channel.onmessage = ({ data }: MessageEvent<readonly ChangeEntry[] | 'many'>) => {
    if (document.hidden) return
    if (data === 'many') void list.refresh()
    else list.follow(data)
  }
  const start = () => {
    ending = new AbortController()
    void lead(client, list, name, channel, ending.signal)
  }
  const look = () => {
    ending?.abort()
    if (document.hidden) return
    start()
    void list.refresh()
  }
  document.addEventListener('visibilitychange', look)
  // A connection of the network before may be dead without a sign.
  addEventListener('online', look)
  if (!document.hidden) start()
  return () => {
    document.removeEventListener('visibilitychange', look)
    removeEventListener('online', look)
    ending?.abort()
    channel.close()
  }
}

/** Reads the stream for all tabs as long as this one may. */
async function lead(
  client: PlantstoreClient,
  list: PlantList,
  name: string,
  channel: BroadcastChannel,
  signal: AbortSignal,
): Promise<void> {
  const read = () => readStream(client, list, channel, signal)
  const locks: LockManager | undefined = navigator.locks
  try {
    await (locks === undefined ? read() : locks.request(nameHere(`plantstore-changes-${name}`), { signal }, read))
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function readStream(
  client: PlantstoreClient,
  list: PlantList,
  channel: BroadcastChannel,
  signal: AbortSignal,
): Promise<void> {
  let hasGap = true
  // What changed before a stream began is not in it, so the tables are read again once it has begun.
  const onPosition = () => {
    if (!hasGap) return
    hasGap = false
    channel.postMessage('many')
    void list.refresh()
  }
  for (; !signal.aborted; await pause(PAUSE, signal)) {
    let since = performance.now()
    let count = 0
    try {
      for await (const entry of client.changes({ after: 'now', signal, onPosition })) {
        if (performance.now() - since > 1000) {
          since = performance.now()
          count = 0
        }
        count += 1
        if (count > MOST) break
        channel.postMessage([entry])
        list.follow([entry])
      }
    } catch (error) {
      // The service keeps no log of changes, or the token has ended: no later attempt has more success.
      if (isRefusal(error, 40401) || isRefusal(error, 40301) || isRefusal(error, 40102)) return
    }
    hasGap = true
  }
}
