import { spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'

/** Says that a promise is not tested on this machine, so that a green run here does not pass for one that tested it. */
export function notTestedHere(t: TestContext, what: string): void {
  t.diagnostic(`NOT TESTED HERE: ${what}`)
  process.stderr.write(`NOT TESTED HERE: ${what}\n`)
}

/** Whether a command runs here and ends well. */
export const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0

export const isRoot = process.getuid?.() === 0
export const isLinux = process.platform === 'linux'
