import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setDefaultCACertificates } from 'node:tls'
import { makeCertificate } from '../test/support/certificates.ts'
import { BARE, type Contender, Running, SHIPPED } from './contender.ts'
import { measureHandshakes } from './handshakes.ts'
import { fill, PLANTS } from './jwt.ts'
import type { LoadResult } from './load.ts'
import { type Effort, median } from './measure.ts'
import type { Work } from './requests.ts'

const CONNECTIONS = 64
/** Seconds. */
const WARM_UP = 3

/** The least rate over TLS, as a share of that in clear text. */
const FLOORS: readonly (readonly [Work, number])[] = [
  ['get', 0.75],
  ['create', 0.85],
]

/** Figures of one load. Times are microseconds of processor time for each answer. */
interface Seen {
  readonly perSecond: number
  readonly server: number
  readonly generator: number
}

/**
 * Compares the service over TLS with itself in clear text, and beside it a bare server of node:https with one of
 * node:http: what these lose, no server in Node.js can keep.
 */
export async function measureTls({ rounds, seconds }: Effort): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-bench-'))
  const { cert, key, authority } = await makeCertificate()
  setDefaultCACertificates([authority])
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  writeFileSync(tls.cert, cert)
  writeFileSync(tls.key, key, { mode: 0o600 })
  const pairs = [SHIPPED, BARE].map((contender): [Contender, Contender] => [contender, { ...contender, tls }])
  const running: Running[] = []
  try {
    for (const contender of pairs.flat()) running.push(await Running.start(contender, undefined, PLANTS))
    for (const [i, one] of running.slice(0, 2).entries())
      await fill(`${i === 0 ? 'http' : 'https'}://127.0.0.1:${one.port}`)
    for (const [work, floor] of FLOORS) {
      const seen: Seen[][] = running.map(() => [])
      // Compiling takes a server a second of processor time.
      for (const one of running) await loaded(one, work, WARM_UP)
      for (let round = 0; round < rounds; round++) {
        for (const [i, one] of running.entries()) seen[i]?.push(await loaded(one, work, seconds))
      }
      report(work, floor, seen)
    }
    for (const one of running.splice(0)) await one.stop()
    await measureHandshakes(tls)
  } finally {
    for (const one of running) await one.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function loaded(one: Running, work: Work, seconds: number): Promise<Seen> {
  const before = one.processorTime()
  const result: LoadResult = await one.load({ connections: CONNECTIONS, seconds, work })
  await one.settled()
  const server = ((one.processorTime() - before) * 1e6) / result.acknowledged
  return { perSecond: result.perSecond, server, generator: result.generatorTime }
}

/** @param seen by server: the service in clear text and over TLS, then the bare server likewise; of each, by round */
function report(work: Work, floor: number, [clear = [], secure = [], bareClear = [], bareSecure = []]: Seen[][]): void {
  console.log(`${work}, ${CONNECTIONS} connections: TLS to clear text, and µs of processor time for each answer`)
  const rows = [
    { name: 'the service', of: [clear, secure] as const },
    { name: 'bare', of: [bareClear, bareSecure] as const },
  ].map(({ name, of: [one, other] }) => {
    const rate = ratioOf(other, one, ({ perSecond }) => perSecond)
    const time = ratioOf(one, other, ({ server }) => server)
    const times = (pick: (of: Seen) => number) =>
      [one, other].map((each) => median(each.map(pick)).toFixed(1)).join(' → ')
    const costs = `server ${times(({ server }) => server)}, generator ${times(({ generator }) => generator)}`
    console.log(`  ${name.padEnd(12)} rate ${rate.toFixed(2)}, by processor time ${time.toFixed(2)}; ${costs}`)
    return rate
  })
  const [ratio = 0, bare = 0] = rows
  const about = ratio >= floor ? 'holds' : ratio >= bare ? 'below the floor, like the bare server' : 'MISSED'
  console.log(`  ${about}: ${ratio.toFixed(2)} of a floor of ${floor}\n`)
}

const ratioOf = (of: readonly Seen[], to: readonly Seen[], pick: (seen: Seen) => number): number =>
  median(of.map((seen, round) => pick(seen) / pick(to[round] as Seen)))
