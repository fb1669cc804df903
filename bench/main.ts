import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { measureAudit } from './audit.ts'
import { measureBackup } from './backup.ts'
import { ECHO } from './contender.ts'
import { measureCreates } from './creates.ts'
import { measureHostileBodies } from './hostile-bodies.ts'
import { sideBySide, together } from './measure.ts'
import { measureOverload } from './overload.ts'
import { measurePage } from './page.ts'
import { measurePostgres } from './postgres.ts'
import { measureSizes } from './sizes.ts'
import { measureSustained } from './sustained.ts'

const HELP = `npm run bench -- [--rounds N] [--seconds N] [--sizes N,N] [--hostile | --overload | --audit | --backup]
npm run bench -- --page [--rounds N] [--sizes N]
npm run bench -- --sustained [--seconds N] [--sizes N,N]

Measures on this machine, side by side in one run: a bare node:http server that checks the token, parses and answers,
storing nothing; the service with one commit per create; and the service as it ships. First creates, then creates, reads
and searches by the size of the store, then creates in a PostgreSQL that is started for it. Figures are ratios; absolute
rates are for orientation alone.

--hostile instead sends requests of shapes that are meant to take time, each --rounds times, and tells how long each of
them held the event loop; the exit code is 1 when one of them did so for more than 50 ms.

--overload instead offers twice as many creates, reads, pages and searches as the service answers at best, over 2,000
connections; the exit code is 1 when it completes less than 0.9 of its best, or the slowest hundredth takes over 5 s.

--audit instead measures what the audit log adds to the processor time of a create, and --backup
how long creates take beside backups.

--page instead measures what a person waits for at the page, in Chromium and in milliseconds: from a key press to its rows,
from a click on a tag to its rows, and 20 pages of scrolling, with a million plants if nothing is said.

With --sustained it measures creates without a pause, for 300 s if nothing is said, with a search each 100 ms, from an empty
store and from one of a million; then an import over HTTP. Each figure is held against its floor.
`
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string' },
    sizes: { type: 'string' },
    sustained: { type: 'boolean', default: false },
    hostile: { type: 'boolean' },
    overload: { type: 'boolean' },
    audit: { type: 'boolean' },
    backup: { type: 'boolean' },
    page: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}
if (values.hostile) {
  const slow = await measureHostileBodies(Number(values.rounds))
  process.exit(slow.length === 0 ? 0 : 1)
}
if (values.overload) {
  const holds = await measureOverload(Number(values.rounds), Number(values.seconds ?? '5'))
  process.exit(holds ? 0 : 1)
}
if (values.page) {
  for (const plants of (values.sizes ?? '1000000').split(',').map(Number))
    await measurePage(plants, Number(values.rounds))
  process.exit()
}
if (values.sustained) {
  await measureSustained((values.sizes ?? '0,1000000').split(',').map(Number), Number(values.seconds ?? '300'))
  process.exit()
}
const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds ?? '3') }

console.log(
  `Node ${process.version}, ${availableParallelism()} cores, ${effort.rounds} rounds of ${effort.seconds} s each\n`,
)
if (values.audit || values.backup) {
  if (values.audit) await measureAudit(effort)
  if (values.backup) await measureBackup(effort)
  process.exit()
}
await generatorCeiling()
await measureCreates(effort)
await measureSizes((values.sizes ?? '1000000,10000000').split(',').map(Number), effort)
await measurePostgres(effort)

/** Shows that the generator is not the bottleneck: it drives a server that does next to nothing far harder. */
async function generatorCeiling(): Promise<void> {
  await together([ECHO], async (running) => {
    const [echo] = await sideBySide(
      running,
      { connections: 64, seconds: effort.seconds, work: 'create' },
      { rounds: 1 },
    )
    console.log(
      `The load generator drives a raw TCP server at ${Math.round(echo?.perSecond ?? 0).toLocaleString('en')}/s.\n`,
    )
  })
}
