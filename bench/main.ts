import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { measureAudit } from './audit.ts'
import { measureBackup } from './backup.ts'
import { measureChanges } from './changes.ts'
import { ECHO } from './contender.ts'
import { measureCreates } from './creates.ts'
import { measureFloods } from './floods.ts'
import { measureHostileBodies } from './hostile-bodies.ts'
import { measureJwt } from './jwt.ts'
import { sideBySide, together } from './measure.ts'
import { measureOverload } from './overload.ts'
import { measurePage } from './page.ts'
import { measurePostgres } from './postgres.ts'
import { proveChanges } from './replay.ts'
import { measureSizes } from './sizes.ts'
import { measureSustained } from './sustained.ts'
import { measureTls } from './tls.ts'
import { measureWebhooks } from './webhooks.ts'

const HELP = `npm run bench -- [--rounds N] [--seconds N] [--sizes N,N] [--hostile | --overload | --audit | --backup | --jwt | --tls | --changes]
npm run bench -- --replay [--rounds N]
npm run bench -- --floods [--seconds N]
npm run bench -- --page [--rounds N] [--sizes N]
npm run bench -- --sustained [--seconds N] [--sizes N,N]
npm run bench -- --webhooks [--seconds N]

Compares on this machine, side by side in one run: a bare node:http server that checks the token, parses, answers and
stores nothing; the service with one commit per create; and the service as it ships. It measures creates, then creates,
reads and searches by the size of the store, then creates in a PostgreSQL that it starts. The figures are ratios;
absolute rates are for orientation only.

--hostile sends requests of shapes that take long to parse, each --rounds times, and prints for how long each of them
blocked the event loop. The exit code is 1 if one blocked it for more than 50 ms.

--overload offers twice as many creates, reads, pages and searches as the service answers at best over 64 connections,
over twice and over eight times as many connections. The exit code is 1 if the service completes less than 0.9 of its
best, or if the slowest hundredth of the answers takes more than 5 s.

--floods sends, on each engine and with one token, as many requests as it gets answers over 400 connections, then over 16
that pipeline long answers; all plants are full. It measures the requests of another token meanwhile, for 10 s beside
each kind. The exit code is 1 if a figure misses its floor.

--audit measures the processor time that the audit log adds to a create. --backup measures creates beside backups.
--jwt compares reads with a token of the service with reads with access tokens of an identity provider.

--tls compares reads by id and creates over TLS with those in clear text, and beside it a bare server of node:https with
one of node:http. Then it opens 10,000 connections whose handshakes never end, and measures the reads of somebody else.

--changes measures writes with and without the log of changes, and with 10 streams; the time from the answer of a create
to its event; pages of 1,000 entries; and the memory of idle streams.

--replay proves on both engines, with 100,000 changes in each round, that an export and the changes after it make a later
export; then that a client in Node.js and one in Chromium miss and repeat none of 100,000 changes while the service
restarts and is killed, and connections break.

--page measures in Chromium how many milliseconds a person waits at the page: from a key press to its rows, from a click
on a tag to its rows, for 20 pages of scrolling, and to set the tag of many plants, beside searches of others. The
default is a million plants. The exit code is 1 if a figure misses its floor.

--sustained measures creates without a pause, with a search every 100 ms, from an empty store and from one of a million
plants; then an import over HTTP. The default is 300 s. It compares each figure with its floor.

--webhooks measures deliveries to one receiver for 60 s, and creates beside them; creates with 100 idle webhooks; and
deliveries beside receivers that hang. The exit code is 1 if a figure misses its floor.
`
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string' },
    sizes: { type: 'string' },
    sustained: { type: 'boolean', default: false },
    hostile: { type: 'boolean' },
    floods: { type: 'boolean' },
    overload: { type: 'boolean' },
    audit: { type: 'boolean' },
    backup: { type: 'boolean' },
    jwt: { type: 'boolean' },
    tls: { type: 'boolean' },
    changes: { type: 'boolean' },
    replay: { type: 'boolean' },
    page: { type: 'boolean' },
    webhooks: { type: 'boolean' },
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
if (values.floods) {
  const holds = await measureFloods(Number(values.seconds ?? '10'))
  process.exit(holds ? 0 : 1)
}
if (values.replay) {
  await proveChanges(Number(values.rounds))
  process.exit()
}
if (values.page) {
  let holds = true
  for (const plants of (values.sizes ?? '1000000').split(',').map(Number))
    holds = (await measurePage(plants, Number(values.rounds))) && holds
  process.exit(holds ? 0 : 1)
}
if (values.sustained) {
  await measureSustained((values.sizes ?? '0,1000000').split(',').map(Number), Number(values.seconds ?? '300'))
  process.exit()
}
if (values.webhooks) {
  const holds = await measureWebhooks(Number(values.seconds ?? '60'))
  process.exit(holds ? 0 : 1)
}
const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds ?? '3') }

console.log(
  `Node ${process.version}, ${availableParallelism()} cores, ${effort.rounds} rounds of ${effort.seconds} s each\n`,
)
if (values.audit || values.backup || values.jwt || values.tls || values.changes) {
  if (values.changes) await measureChanges(effort)
  if (values.audit) await measureAudit(effort)
  if (values.backup) await measureBackup(effort)
  if (values.jwt) await measureJwt(effort)
  if (values.tls) await measureTls(effort)
  process.exit()
}
await generatorCeiling()
await measureCreates(effort)
await measureSizes((values.sizes ?? '1000000,10000000').split(',').map(Number), effort)
await measurePostgres(effort)

/** Shows that the generator is not the bottleneck: it sends far more requests to a server that does almost nothing. */
async function generatorCeiling(): Promise<void> {
  await together([ECHO], async (running) => {
    const [echo] = await sideBySide(
      running,
      { connections: 64, seconds: effort.seconds, work: 'create' },
      { rounds: 1 },
    )
    console.log(
      `The load generator reaches ${Math.round(echo?.perSecond ?? 0).toLocaleString('en')}/s with a raw TCP server.\n`,
    )
  })
}
