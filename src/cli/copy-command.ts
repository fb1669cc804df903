import type { Command } from 'commander'
import { SETTINGS, type StoreAddress } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { command, examples } from './command.ts'

export function addCopy(root: Command, environment: NodeJS.ProcessEnv): void {
  command(root, 'copy', 'copy a store to another one, on the same or another engine, and compare both')
    .option('--from <URL>', 'the store to copy; a service may serve it meanwhile')
    .option('--to <URL>', 'the target store; created if it does not exist')
    .option('--no-tokens', 'do not copy the access tokens')
    .option('--quiet', 'show errors only: no progress, no summary')
    .addHelpText('after', NOTES)
    .addHelpText('after', examples(...EXAMPLES))
    .action(async ({ from, to, tokens, quiet }: Flags) => {
      const flags = { ...addresses(from, to, environment), tokens, quiet: quiet === true }
      const { copyStore } = await import('./copy.ts')
      process.exitCode = await copyStore(flags)
      // A read may still be under way, for minutes; nobody waits for it.
      if (process.exitCode > 2) process.exit()
    })
}

interface Flags {
  readonly from?: string
  readonly to?: string
  readonly tokens: boolean
  readonly quiet?: true
}

const NOTES = `
Plants that are written while they are copied may be missing, so stop the service before the last run. Copying again is
safe, and writes only what is missing.
Tokens come along as the hashes that the store keeps, so that they go on working.

Exit codes: 0 done and both are equal, 1 failed or they differ, 2 called wrongly, 130 or 143 stopped by a signal.`
const EXAMPLES = [
  'plantstore copy --from sqlite:data/plants.db --to postgres://plantstore@db.example/plants',
  'plantstore copy --from postgres://plantstore@db.example/plants --to sqlite:/srv/plants.db --no-tokens',
]

/** @throws OperatorError (exit code 2) that names all that is missing or wrong */
function addresses(from: string | undefined, to: string | undefined, environment: NodeJS.ProcessEnv) {
  const faults: string[] = []
  const read = (flag: string, text: string | undefined): StoreAddress | undefined => {
    try {
      if (text === undefined) throw new Error('is missing; give the address of a store, such as sqlite:data/plants.db')
      return SETTINGS.store.parse(text, environment, 'client')
    } catch (error) {
      faults.push(`--${flag}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const found = { from: read('from', from), to: read('to', to) }
  if (found.from !== undefined && found.to !== undefined) return { from: found.from, to: found.to }
  throw new OperatorError(faults.join('\n'), { exitCode: 2 })
}
