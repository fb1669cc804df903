import { type Contender, type Running, SHIPPED } from './contender.ts'
import { type Effort, median, together } from './measure.ts'

/** The largest share that the audit log may add to the processor time of a create. */
const MOST = 0.03

const OFF: Contender = { ...SHIPPED, name: 'audit log off', program: [...SHIPPED.program, '--audit-log', 'off'] }
const FILE: Contender = { ...SHIPPED, name: 'audit log in a file' }

/** Compares the processor time of a create with and without the audit log. */
export async function measureAudit({ rounds, seconds }: Effort): Promise<void> {
  // The first two are the same: their difference is the noise of the machine.
  await together([OFF, { ...OFF, name: 'audit log off, again' }, FILE], async (running) => {
    const times: number[][] = running.map(() => [])
    for (let round = 0; round < rounds; round++) {
      for (const [i, one] of running.entries()) times[i]?.push(await timeOfCreate(one, seconds))
    }
    const [off = []] = times
    console.log('Processor time of a create, 64 connections')
    const ratios = running.map(({ contender }, i) => {
      const own = times[i] ?? []
      const ratio = median(own.map((time, round) => time / (off[round] ?? Number.NaN)))
      console.log(`  ${contender.name.padEnd(26)} ${ratio.toFixed(3)}  ${median(own).toFixed(2)} µs`)
      return ratio
    })
    const added = (ratios[2] ?? Number.NaN) - 1
    console.log(
      `  ${added <= MOST ? 'holds' : 'MISSED'}: the audit log adds ${(added * 100).toFixed(1)}% of at most 3%\n`,
    )
  })
}

/** Microseconds of all threads, including their work after the last answer. */
async function timeOfCreate(one: Running, seconds: number): Promise<number> {
  const before = one.processorTime()
  const { acknowledged } = await one.load({ connections: 64, seconds, work: 'create' })
  await one.settled()
  return ((one.processorTime() - before) * 1e6) / acknowledged
}
