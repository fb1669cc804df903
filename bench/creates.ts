import { availableParallelism } from 'node:os'
import { BARE, canPin, SHIPPED, SINGLE } from './contender.ts'
import { type Effort, plot, sideBySide, together, verdict } from './measure.ts'

/** Compares creates per second with the bare server, on all cores and on one. */
export async function measureCreates(effort: Effort): Promise<void> {
  await twoCores(effort)
  await oneCore(effort)
}

async function twoCores({ rounds, seconds }: Effort): Promise<void> {
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

async function oneCore({ rounds, seconds }: Effort): Promise<void> {
  if (!canPin || availableParallelism() < 2) {
    console.log('Pinned to one core: not measured, because this system cannot pin a process.\n')
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

function percent(share: number): string {
  return `${Math.round(share * 100)}%`
}
