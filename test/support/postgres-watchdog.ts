// Ends a PostgreSQL server and removes its folder once the process that started it has ended in any way: then the
// standard input of the watchdog closes.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const folder = process.argv[2] ?? ''
// Ctrl+C on a terminal reaches the watchdog too. It waits for the end of the input instead.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
await new Promise((resolve) => process.stdin.on('close', resolve).resume())

/** SIGQUIT makes PostgreSQL end at once. A paused server must continue first. */
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
