import { type Command, InvalidArgumentError } from 'commander'
import { integer } from '../settings/setting.ts'
import { addSettings, command, examples } from './command.ts'
import type { DistributeFlags } from './distribute.ts'
import type { ReadSettings } from './transfer-commands.ts'

export function addDistribute(root: Command, settings: ReadSettings): void {
  const to = command(root, 'distribute', 'distribute a PostgreSQL store over the workers of its Citus coordinator')
  addSettings(to, ['store'])
  to.option('--shards <NUMBER>', 'the number of shards for the plants (default 2 for each worker, at least 4)', shards)
    .option('--quiet', 'show errors only: no progress, no steps')
    .addHelpText('after', NOTES)
    .addHelpText('after', examples(...EXAMPLES))
    .action(async (flags: DistributeFlags & { readonly store?: string }) => {
      const { distribute } = await import('./distribute.ts')
      await distribute(flags, settings(flags))
    })
}

/** The maximum of Citus (citus.shard_count). */
const MAX_SHARDS = 64_000

function shards(text: string): number {
  try {
    return integer(1, MAX_SHARDS)(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

const NOTES = `
The command creates the extension citus and the store if they are missing, copies the tokens to every server, and moves
the plants to the workers. Requests that write plants wait until the move ends, or get 503. A running service notices
the move within seconds. To continue after an interruption, run the command again.

Exit codes: 0 done, 1 failed, 2 wrong usage.`
const EXAMPLES = [
  'plantstore distribute --store postgres://plantstore@coordinator.example/plants',
  'plantstore distribute --store postgres://plantstore@coordinator.example/plants --shards 32',
]
