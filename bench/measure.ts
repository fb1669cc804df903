import { type Contender, Running } from './contender.ts'
import type { LoadOptions, LoadResult } from './load.ts'

export interface Effort {
  readonly rounds: number
  /** Seconds of each load in each round. */
  readonly seconds: number
}

export interface Measured {
  readonly name: string
  /** Medians of the rounds. */
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** The median of the ratios to the first contender in the same round. */
  readonly ratio: number
  /** The highest share of a core that the load generator took, from 0 to 1. */
  readonly generator: number
}

/**
 * Loads the contenders in turn, round after round, and compares within each round: other load of the machine hits all.
 */
export async function sideBySide(
  running: readonly Running[],
  work: Pick<LoadOptions, 'connections' | 'seconds' | 'work'>,
  options: { rounds: number; generatorCore?: number },
): Promise<Measured[]> {
  const rounds: LoadResult[][] = []
  for (let round = 0; round < options.rounds; round++) {
    const results: LoadResult[] = []
    for (const one of running) {
      results.push(await one.load(work, options.generatorCore))
      await one.settled()
    }
    rounds.push(results)
  }
  return running.map((one, i) => {
    const of = (pick: (result: LoadResult) => number) => rounds.map((results) => pick(results[i] as LoadResult))
    return {
      name: one.contender.name,
      perSecond: median(of((result) => result.perSecond)),
      p50: median(of((result) => result.p50)),
      p99: median(of((result) => result.p99)),
      ratio: median(rounds.map((results) => (results[i]?.perSecond ?? 0) / (results[0]?.perSecond ?? 1))),
      generator: Math.max(...of((result) => result.utilization)),
    }
  })
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/** Writes a line per contender, with a bar for its ratio. */
export function plot(title: string, measured: readonly Measured[]): string {
  const lines = measured.map(({ name, perSecond, ratio, p50, p99 }) => {
    const bar = '█'.repeat(Math.round(ratio * 30)).padEnd(34, '·')
    const rate = Math.round(perSecond).toLocaleString('en').padStart(8)
    return `  ${name.padEnd(26)} ${bar} ${ratio.toFixed(2)}  ${rate}/s  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms`
  })
  return `${title}\n${lines.join('\n')}\n`
}

/** Starts the contenders, runs `work`, and stops them. */
export async function together(
  contenders: readonly Contender[],
  work: (running: Running[]) => Promise<void>,
): Promise<void> {
  const running: Running[] = []
  try {
    for (const contender of contenders) running.push(await Running.start(contender))
    await work(running)
  } finally {
    for (const one of running) await one.stop()
  }
}

export function verdict(what: string, measured: Measured | undefined, floor: number): void {
  const ratio = measured?.ratio ?? 0
  console.log(`  ${ratio >= floor ? 'holds' : 'MISSED'}: ${what}, ${ratio.toFixed(2)} of a floor of ${floor}\n`)
}
