import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'

/** Reports that this machine can't test a promise, so that a green run does not look like a proof of it. */
export function notTestedHere(t: TestContext, what: string): void {
  t.diagnostic(`NOT TESTED HERE: ${what}`)
  process.stderr.write(`NOT TESTED HERE: ${what}\n`)
}

/** Whether a command runs on this machine and succeeds. */
export const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

export const isRoot = process.getuid?.() === 0
export const isLinux = process.platform === 'linux'

/** How many connections the system lets wait until a service accepts them; past that it resets some, whoever's they are. */
export const systemBacklog = (): number =>
  isLinux ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) : SMALLEST_BACKLOG

/** That of macOS. */
const SMALLEST_BACKLOG = 128
