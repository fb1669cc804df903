// Ends a PostgreSQL server and removes its folder once whoever started it is gone, however that ended: the other end of
// our standard input closes then.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const folder = process.argv[2] ?? ''
// Ctrl+C on a terminal reaches us too; the end of the input is what counts.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
await new Promise((resolve) => process.stdin.on('close', resolve).resume())

/** SIGQUIT makes PostgreSQL end at once; a hung one has to be woken for it. */
const pidFile = `${folder}/data/postmaster.pid`
for (let tries = 0; existsSync(pidFile) && tries < 200; tries++) {
  const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
  if (!signal(pid, tries < 100 ? 'SIGQUIT' : 'SIGKILL')) break
  signal(pid, 'SIGCONT')
  await sleep(50)
}
rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
