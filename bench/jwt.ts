import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AUDIENCE, Issuer } from '../test/support/issuer.ts'
import { Running, SHIPPED, TOKEN } from './contender.ts'
import { type Effort, median } from './measure.ts'

export const PLANTS = 10_000
const JWTS = 1000

interface Sender {
  readonly name: string
  readonly tokens: readonly string[]
  /** The least share of the first sender's reads in the same processor time, which other load disturbs less than rates. */
  readonly floor: number
}

/** Compares reads by id with a token of the service, with one JWT of an identity provider, and with many in turn. */
export async function measureJwt({ rounds, seconds }: Effort): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-bench-'))
  const closers: (() => Promise<void> | void)[] = []
  const issuer = await Issuer.start({ after: (close) => closers.push(close) })
  const provider = ['--oidc-issuer', issuer.url, '--oidc-audience', AUDIENCE]
  const service = { ...SHIPPED, program: [...SHIPPED.program, ...provider] }
  const running = await Running.start(service, join(folder, 'plants.db'), PLANTS)
  try {
    const jwts = Array.from({ length: JWTS }, (_, i) => issuer.sign({ sub: `subject-${i}` }))
    const senders: readonly Sender[] = [
      { name: 'a token of the service', tokens: [await ownToken(baseOf(running))], floor: 1 },
      { name: 'one JWT', tokens: [await issuer.token()], floor: 0.95 },
      { name: `${JWTS} JWTs in turn`, tokens: await Promise.all(jwts), floor: 0.7 },
    ]
    await fill(baseOf(running))
    await compare(running, senders, { rounds, seconds })
  } finally {
    await running.stop()
    for (const close of closers) await close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function compare(running: Running, senders: readonly Sender[], { rounds, seconds }: Effort): Promise<void> {
  const file = join(running.store, '..', 'tokens')
  const rates: number[][] = senders.map(() => [])
  const times: number[][] = senders.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, { tokens }] of senders.entries()) {
      writeFileSync(file, tokens.join('\n'))
      const before = running.processorTime()
      const result = await running.load({ connections: 64, seconds, work: 'get', tokensFile: file })
      await running.settled()
      rates[i]?.push(result.perSecond)
      times[i]?.push(((running.processorTime() - before) * 1e6) / result.acknowledged)
    }
  }
  console.log('Reads by id, 64 connections: rate, and the inverse of the processor time, to those of the first')
  for (const [i, { name, floor }] of senders.entries()) {
    const rate = ratioOf(rates[i], rates[0])
    const time = 1 / ratioOf(times[i], times[0])
    const shown = `${rate.toFixed(3)}  ${time.toFixed(3)}  ${Math.round(median(rates[i] ?? []))}/s`
    console.log(`  ${name.padEnd(26)} ${shown}  ${time >= floor ? 'holds' : 'MISSED'}: floor ${floor}`)
  }
}

const ratioOf = (of: readonly number[] = [], to: readonly number[] = []): number =>
  median(of.map((value, round) => value / (to[round] ?? Number.NaN)))

const baseOf = ({ port }: Running): string => `http://127.0.0.1:${port}`

async function ownToken(base: string): Promise<string> {
  const body = JSON.stringify({ name: 'bench', scopes: ['plants:read'] })
  const answer = await send(base, '/tokens', 'application/json', body)
  return ((await answer.json()) as { secret: string }).secret
}

/** Adds the plants with the ids from 1 on. */
export async function fill(base: string): Promise<void> {
  const rows = Array.from({ length: PLANTS }, (_, i) => `{"id":${i + 1},"name":"Plant ${i + 1}"}\n`)
  await send(base, '/plants/import', 'application/x-ndjson', rows.join(''))
}

async function send(base: string, path: string, type: string, body: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': type }
  const answer = await fetch(`${base}${path}`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return answer
}
