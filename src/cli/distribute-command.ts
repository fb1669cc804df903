import { type Command, InvalidArgumentError } from 'commander'
import { integer } from '../setting.ts'
import { addSettings, command, examples } from './command.ts'
import type { DistributeFlags } from './distribute.ts'
import type { ReadSettings } from './transfer-commands.ts'

export function addDistribute(root: Command, settings: ReadSettings): void {
  const to = command(root, 'distribute', 'distribute a PostgreSQL store over the workers of its Citus coordinator')
  addSettings(to, ['store'])
  to.option('--shards <NUMBER>', 'how many shards plants get (default 2 for each worker, at least 4)', shards)
    .option('--quiet', 'show errors only: no progress, no steps')
    .addHelpText('after', NOTES)
    .addHelpText('after', examples(...EXAMPLES))
    .action(async (flags: DistributeFlags & { readonly store?: string }) => {
      const { distribute } = await import('./distribute.ts')
      await distribute(flags, settings(flags))
    })
}

/** Citus' own maximum. */
const MAX_SHARDS = 64_000

function shards(text: string): number {
  try {
    return integer(1, MAX_SHARDS)(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

const NOTES = `
The command creates the extension citus and the store where they lack, gives every server a copy of the tokens, and
moves the plants to the workers. Requests that write plants wait until the move ends, or are answered with 503. A
running service notices it within seconds. The command can be run again, and continues after a break.

Exit codes: 0 done, 1 failed, 2 called wrongly.`
const EXAMPLES = [
  'plantstore distribute --store postgres://plantstore@coordinator.example/plants',
  'plantstore distribute --store postgres://plantstore@coordinator.example/plants --shards 32',
]
