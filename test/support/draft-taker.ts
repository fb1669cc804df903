// A thread that takes the lock of each new draft in a folder, as a start that looks for abandoned drafts does, but for
// longer. It tells its parent when it begins, and of each lock that it had before the draft's own process.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { takeLock } from '../../src/base/files.ts'

const folder = String(workerData)
const seen = new Set<string>()
parentPort?.postMessage('begun')
for (;;) {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.lock') || seen.has(name)) continue
    seen.add(name)
    const lock = takeLock(join(folder, name))
    if (lock === undefined) continue
    // Longer than makeDraft waits for a lock.
    await sleep(100)
    lock.remove()
    parentPort?.postMessage('taken')
  }
}
