import { existsSync } from 'node:fs'
import { IN_THREAD, ON_LOOP, Running, SHIPPED } from './contender.ts'
import { median } from './measure.ts'

/**
 * Compares the places of the writer: its thread, the event loop, or the choice by commit time
 * (docs/decisions/0015-writer-placement.md). Measures creates per second and the times of reads meanwhile, on this disk
 * and with every fsync slowed by 5 ms.
 */
const SLOW_DISK = [
  'strace',
  '-f',
  '-qq',
  '--seccomp-bpf',
  '-e',
  'trace=fsync',
  '-e',
  'inject=fsync:delay_exit=5000',
  '-o',
  '/dev/null',
]
const ROUNDS = 5

await compare('this disk', [])
if (existsSync('/usr/bin/strace')) await compare('every fsync 5 ms slower', SLOW_DISK)
else console.log('NOT MEASURED HERE: a slow disk, which needs strace')

async function compare(disk: string, under: readonly string[]): Promise<void> {
  const running: Running[] = []
  try {
    for (const contender of [IN_THREAD, ON_LOOP, SHIPPED]) running.push(await Running.start({ ...contender, under }))
    const rounds = running.map(() => ({ creates: [] as number[], reads: [] as number[] }))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, one] of running.entries()) {
        const [creates, reads] = await Promise.all([
          one.load({ connections: 64, seconds: 3, work: 'create' }),
          one.load({ connections: 4, seconds: 3, work: 'live' }),
        ])
        rounds[i]?.creates.push(creates.perSecond)
        rounds[i]?.reads.push(reads.p99)
      }
    }
    console.log(`\n${disk}`)
    for (const [i, one] of running.entries()) {
      const { creates = [], reads = [] } = rounds[i] ?? {}
      const rate = Math.round(median(creates)).toLocaleString('en').padStart(7)
      console.log(`  ${one.contender.name.padEnd(26)} ${rate} creates/s   p99 of reads ${median(reads).toFixed(2)} ms`)
    }
  } finally {
    for (const one of running) await one.stop()
  }
}
