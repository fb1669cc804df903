import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { measureCitus } from './citus.ts'
import { ECHO } from './contender.ts'
import { measureCreates } from './creates.ts'
import { measureFloods } from './floods.ts'
import { measureGrowth } from './growth.ts'
import { type Effort, sideBySide, together } from './measure.ts'
import { measurePage } from './page.ts'
import { measurePostgres } from './postgres.ts'
import { measureSizes } from './sizes.ts'
import { measureSustained } from './sustained.ts'
import { measureWebhooks } from './webhooks.ts'

const HELP = `npm run bench -- [--rounds N] [--seconds N] [--sizes N,N]
npm run bench -- --citus FOLDER [--rounds N] [--seconds N]
npm run bench -- --floods [--seconds N]
npm run bench -- --growth [--seconds N] [--sizes N,N]
npm run bench -- --page [--rounds N] [--sizes N]
npm run bench -- --sustained [--seconds N] [--sizes N,N]
npm run bench -- --webhooks [--seconds N]
npm run bench -- --short

Compares on this machine, side by side in one run: a bare node:http server that checks the token, parses, answers and
stores nothing; the service with one commit per create; and the service as it ships. It measures creates, then creates,
reads and searches by the size of the store, then creates in a PostgreSQL that it starts. The figures are ratios;
absolute rates are for orientation only.

--citus compares a store on Citus with one on PostgreSQL, both of the build in FOLDER (see scripts/build-citus.sh).

--floods sends, on each engine and with one token, as many requests as it gets answers over 400 connections, then over 16
that pipeline long answers; all plants are full. It measures the requests of another token meanwhile, for 10 s beside
each kind. The exit code is 1 if a figure misses its floor.

--growth compares what reads cost that find the same number of plants in stores of 10,000, 100,000 and a million, by
processor time on SQLite and by pages of the server on PostgreSQL, and measures for 20 s the searches of a token beside
those of another one among a million tags. The exit code is 1 if a figure misses its floor.

--page measures in Chromium how many milliseconds a person waits at the page: from a key press to its rows, from a click
on a tag to its rows, for 20 pages of scrolling, and to set the tag of many plants, beside searches of others. The
default is a million plants. The exit code is 1 if a figure misses its floor.

--sustained measures creates without a pause, with a search every 100 ms, from an empty store and from one of a million
plants; then an import over HTTP. The default is 300 s. It compares each figure with its floor.

--webhooks measures deliveries to one receiver for 60 s, and creates beside them; creates with 100 idle webhooks; and
deliveries beside receivers that hang. The exit code is 1 if a figure misses its floor.

--short measures all of these for seconds, with small stores, so that none of them stops working unnoticed. It prints
the figures, and fails only where a measurement does.
`
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string' },
    sizes: { type: 'string' },
    sustained: { type: 'boolean', default: false },
    citus: { type: 'string' },
    floods: { type: 'boolean' },
    growth: { type: 'boolean' },
    page: { type: 'boolean' },
    webhooks: { type: 'boolean' },
    short: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}
const effort = values.short
  ? { rounds: 1, seconds: 1 }
  : { rounds: Number(values.rounds), seconds: Number(values.seconds ?? '3') }
const sizes = (usual: string): number[] => (values.sizes ?? usual).split(',').map(Number)

console.log(
  `Node ${process.version}, ${availableParallelism()} cores, ${effort.rounds} rounds of ${effort.seconds} s each\n`,
)
if (values.short) await measureShortly(effort)
else if (values.citus !== undefined) await measureCitus(values.citus, effort)
else if (values.floods) exitUnless(await measureFloods(Number(values.seconds ?? '10')))
else if (values.growth) exitUnless(await measureGrowth(sizes('10000,100000,1000000'), Number(values.seconds ?? '20')))
else if (values.page) for (const plants of sizes('1000000')) exitUnless(await measurePage(plants, effort.rounds))
else if (values.sustained) await measureSustained(sizes('0,1000000'), Number(values.seconds ?? '300'))
else if (values.webhooks) exitUnless(await measureWebhooks(Number(values.seconds ?? '60')))
else await measureMain(effort, sizes('1000000,10000000'))
process.exit()

function exitUnless(holds: boolean): void {
  if (!holds) process.exitCode = 1
}

async function measureMain(effort: Effort, sizes: readonly number[]): Promise<void> {
  await generatorCeiling(effort)
  await measureCreates(effort)
  await measureSizes(sizes, effort)
  await measurePostgres(effort)
}

async function measureShortly(effort: Effort): Promise<void> {
  await measureMain(effort, [20_000])
  await measureFloods(3)
  await measureGrowth([1000, 20_000], 3)
  await measureSustained([0], 5, 20_000)
  // The page sets the tag of 100,000 plants.
  await measurePage(120_000, effort.rounds)
  await measureWebhooks(12)
}

/** Shows that the generator is not the bottleneck: it sends far more requests to a server that does almost nothing. */
async function generatorCeiling({ seconds }: Effort): Promise<void> {
  await together([ECHO], async (running) => {
    const [echo] = await sideBySide(running, { connections: 64, seconds, work: 'create' }, { rounds: 1 })
    console.log(
      `The load generator reaches ${Math.round(echo?.perSecond ?? 0).toLocaleString('en')}/s with a raw TCP server.\n`,
    )
  })
}
