import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Running, SHIPPED } from './contender.ts'
import { fill } from './fill.ts'
import type { LoadResult } from './load.ts'
import { type Effort, median } from './measure.ts'

const PLANTS = 1_000_000
const WORK = { connections: 64, work: 'create' } as const

/** Measures creates alone, and beside backups of a million plants that run one after the other. */
export async function measureBackup({ rounds, seconds }: Effort): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.db')
  fill(file, PLANTS)
  const service = await Running.start(SHIPPED, file, PLANTS)
  const [alone, beside]: [LoadResult[], LoadResult[]] = [[], []]
  let backups = 0
  try {
    for (let round = 0; round < rounds; round++) {
      alone.push(await service.load({ ...WORK, seconds }))
      await service.settled()
      const stopping = new AbortController()
      const backingUp = backUp(file, stopping.signal)
      beside.push(await service.load({ ...WORK, seconds }))
      stopping.abort()
      backups += await backingUp
      await service.settled()
    }
  } finally {
    await service.stop()
  }
  console.log(`Creates beside backups of ${PLANTS.toLocaleString('en')} plants, ${backups} of them, 64 connections`)
  for (const [name, results] of [
    ['alone', alone],
    ['beside backups', beside],
  ] as const) {
    const of = (pick: (result: LoadResult) => number) => median(results.map(pick))
    const rate = Math.round(of(({ perSecond }) => perSecond)).toLocaleString('en')
    const times = `p50 ${of(({ p50 }) => p50).toFixed(2)} ms  p99 ${of(({ p99 }) => p99).toFixed(2)} ms`
    console.log(`  ${name.padEnd(16)} ${rate.padStart(8)}/s  ${times}`)
  }
}

/** Makes backups until the signal aborts. @returns their number */
async function backUp(store: string, signal: AbortSignal): Promise<number> {
  const program = join(import.meta.dirname, '../bin/plantstore.js')
  let made = 0
  for (; !signal.aborted; made++) {
    const copy = `${store}.backup-${made}`
    await promisify(execFile)(process.execPath, [program, 'backup', copy, '--store', `sqlite:${store}`, '--quiet'])
    rmSync(copy)
  }
  return made
}
