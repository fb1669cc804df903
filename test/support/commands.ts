import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Outcome, ownEnvironment, type ProgramOptions } from './process.ts'
import { settled } from './until.ts'
import { wholeFile } from './whole-file.ts'

const HOST = fileURLToPath(new URL('./command-host.ts', import.meta.url))

/** What the host of commands is asked. */
export interface CommandLine {
  readonly args: readonly string[]
  readonly cwd: string
}

interface Host {
  readonly child: ChildProcess
  /** Rejects when the host ends. */
  readonly end: Promise<never>
  /** The command under way. */
  last: Promise<unknown>
}

/** By their environments. */
const hosts = new Map<string, Host>()

/**
 * Runs one command of `plantstore` to its end as `run` does, behind others of this file in one process: the start of
 * another one takes most of the processor time of a command. It is for what a command says, does and returns, in files
 * that `run` some of their commands too; not for `serve`, signals, standard input, nor bytes on standard output.
 */
export async function command(
  args: readonly string[],
  { cwd = process.cwd(), env = {} }: Pick<ProgramOptions, 'cwd' | 'env'> = {},
): Promise<Outcome> {
  const host = hostFor(env)
  const { child, end, last } = host
  const outcome = last.then(async () => {
    const answer = once(child, 'message')
    child.send({ args, cwd } satisfies CommandLine)
    const [said] = await Promise.race([answer, end])
    return said as Outcome
  })
  host.last = outcome.catch(() => {})
  return settled(outcome, () => `plantstore ${args.join(' ')} runs on`)
}

function hostFor(env: Readonly<Record<string, string>>): Host {
  const key = JSON.stringify(env)
  const known = hosts.get(key)
  if (known !== undefined) return known
  const child = fork(HOST, { env: { ...ownEnvironment(), ...env }, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const exit = once(child, 'exit')
  const end = exit.then(() => Promise.reject(new Error('the host of commands has ended')))
  end.catch(() => {})
  wholeFile.after(async () => {
    if (child.connected) child.disconnect()
    await exit
  })
  const host = { child, end, last: Promise.resolve() }
  hosts.set(key, host)
  return host
}
