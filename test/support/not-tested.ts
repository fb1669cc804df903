import { spawnSync } from 'node:child_process'
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
