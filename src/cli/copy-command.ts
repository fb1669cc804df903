import type { Command } from 'commander'
import { SETTINGS, type StoreAddress } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { command, examples } from './command.ts'

export function addCopy(root: Command, environment: NodeJS.ProcessEnv): void {
  command(root, 'copy', 'copy a store into another one, of whichever engine, and compare the two')
    .requiredOption('--from <URL>', 'the store to copy, which may be served meanwhile')
    .requiredOption('--to <URL>', 'the store to copy it into, which is made if it is not there')
    .option('--no-tokens', 'leave the access tokens where they are')
    .option('--quiet', 'show no progress and no summary, only what goes wrong')
    .addHelpText('after', NOTES)
    .addHelpText('after', examples(...EXAMPLES))
    .action(async ({ from, to, tokens, quiet }: Flags) => {
      const flags = {
        from: address('from', from, environment),
        to: address('to', to, environment),
        tokens,
        quiet: quiet === true,
      }
      const { copyStore } = await import('./copy.ts')
      process.exitCode = await copyStore(flags)
      // A read may still be under way, for minutes; nobody waits for it.
      if (process.exitCode > 2) process.exit()
    })
}

interface Flags {
  readonly from: string
  readonly to: string
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

function address(flag: string, text: string, environment: NodeJS.ProcessEnv): StoreAddress {
  try {
    return SETTINGS.store.parse(text, environment, 'client')
  } catch (error) {
    throw new OperatorError(`--${flag}: ${error instanceof Error ? error.message : ''}`, { exitCode: 2 })
  }
}
