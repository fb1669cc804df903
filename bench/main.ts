import { mkdtempSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BARE, type Contender, canPin, ECHO, Running, SHIPPED, SINGLE } from './contender.ts'
import { fill } from './fill.ts'
import { type Measured, plot, sideBySide } from './measure.ts'

const HELP = `npm run bench -- [--rounds N] [--seconds N] [--sizes N,N]

Measures creates on this machine, side by side in one run: a bare node:http server that checks the token, parses and
answers, storing nothing; the service with one commit per create; and the service as it ships. Figures are ratios to the
bare server; absolute rates are for orientation alone.
`
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    sizes: { type: 'string', default: '1000000,10000000' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

console.log(`Node ${process.version}, ${availableParallelism()} cores, ${rounds} rounds of ${seconds} s each\n`)
await generatorCeiling()
await twoCores()
await oneCore()
await sizes(values.sizes.split(',').map(Number))

/** How we know that the generator is not what is measured: it drives a server that does next to nothing far harder. */
async function generatorCeiling(): Promise<void> {
  await together([ECHO], async (running) => {
    const [echo] = await sideBySide(running, { connections: 64, seconds, work: 'create' }, { rounds: 1 })
    console.log(
      `The load generator drives a raw TCP server at ${Math.round(echo?.perSecond ?? 0).toLocaleString('en')}/s.\n`,
    )
  })
}

async function twoCores(): Promise<void> {
  await together([BARE, SHIPPED, SINGLE], async (running) => {
    for (const connections of [1, 64, 512]) {
      const measured = await sideBySide(running, { connections, seconds, work: 'create' }, { rounds })
      console.log(plot(`Creates, ${connections} connections, all cores`, measured))
      console.log(`  generator busy ${percent(Math.max(...measured.map((one) => one.generator)))}\n`)
      if (connections === 64) verdict('two cores', measured[1], 0.75)
    }
    for (const one of running) {
      const memory = one.memory()
      const words =
        memory === undefined ? '' : `, ${memory.now.toFixed(0)} MB resident (peak ${memory.peak.toFixed(0)})`
      console.log(`  ${one.contender.name}: ready after ${one.startUp.toFixed(0)} ms${words}`)
    }
    console.log()
  })
}

async function oneCore(): Promise<void> {
  if (!canPin || availableParallelism() < 2) {
    console.log('Pinned to one core: not measured, as this system can not pin a process.\n')
    return
  }
  await together(
    [
      { ...BARE, core: 0 },
      { ...SHIPPED, core: 0 },
    ],
    async (running) => {
      const measured = await sideBySide(
        running,
        { connections: 64, seconds, work: 'create' },
        { rounds, generatorCore: 1 },
      )
      console.log(plot('Creates, 64 connections, server on one core, generator on another', measured))
      verdict('one core', measured[1], 0.6)
    },
  )
}

/** The first contender is the empty store, so ratios are to it. */
async function sizes(plants: readonly number[]): Promise<void> {
  const running = [await Running.start({ ...SHIPPED, name: 'empty' })]
  for (const count of plants) {
    const store = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.db')
    fill(store, count)
    running.push(await Running.start({ ...SHIPPED, name: `${count.toLocaleString('en')} plants` }, store, count))
  }
  try {
    const ascending = await sideBySide(running, { connections: 64, seconds, work: 'create' }, { rounds })
    console.log(plot('Creates by size of the store, ids ascending, 64 connections', ascending))
    verdict('size', ascending.at(-1), 0.9)
    const random = await sideBySide(running, { connections: 64, seconds, work: 'random' }, { rounds })
    console.log(plot('Creates by size of the store, ids at random, 64 connections', random))
    for (const one of running)
      console.log(`  ${one.contender.name}: ${one.memory()?.peak.toFixed(0) ?? '?'} MB resident at most`)
  } finally {
    for (const one of running) await one.stop()
  }
}

async function together(contenders: readonly Contender[], work: (running: Running[]) => Promise<void>): Promise<void> {
  const running: Running[] = []
  try {
    for (const contender of contenders) running.push(await Running.start(contender))
    await work(running)
  } finally {
    for (const one of running) await one.stop()
  }
}

function verdict(what: string, measured: Measured | undefined, floor: number): void {
  const ratio = measured?.ratio ?? 0
  console.log(`  ${ratio >= floor ? 'holds' : 'MISSED'}: ${what}, ${ratio.toFixed(2)} of a floor of ${floor}\n`)
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`
}
