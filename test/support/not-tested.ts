import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { noteUntested } from './shortfalls.ts'

/** Reports that this machine cannot test a promise, so that nobody takes a green run for a proof. */
export function notTestedHere(t: TestContext, what: string): void {
  t.diagnostic(`NOT TESTED HERE: ${what}`)
  process.stderr.write(`NOT TESTED HERE: ${what}\n`)
  noteUntested(what)
}

/** Whether a command runs on this machine and succeeds. */
export const runs = (command: string, ...args: readonly string[]): boolean => spawnSync(command, args).status === 0

export const isRoot = process.getuid?.() === 0
export const isLinux = process.platform === 'linux'

/** The backlog of macOS. */
const SMALLEST_BACKLOG = 128

/** The most connections that the system queues until a service accepts them. Beyond, it resets some of any client. */
export const systemBacklog = (): number =>
  isLinux ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) : SMALLEST_BACKLOG
