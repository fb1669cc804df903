import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSuccess, lengthOf, quantilesOf, WARM_UP } from './answers.ts'
import { requests, type WorkOptions } from './requests.ts'

/**
 * The generator of a load that does not wait for answers: a separate process that sends requests at a given rate, each
 * on a free connection. It prints its result as one line of JSON.
 */
export interface OfferOptions extends WorkOptions {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** Requests per second. */
  readonly rate: number
}

export interface OfferResult {
  /** Requests answered 2xx, per second. */
  readonly perSecond: number
  /** Refused requests, per second. */
  readonly refused: number
  /** Requests for which no connection was free, per second. */
  readonly unsent: number
  /** Response times of the requests answered 2xx, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Requests sent in the whole run, warm-up included. */
  readonly sent: number
  /** Connections that broke. */
  readonly broken: number
}

/** Milliseconds after which the generator sends the requests that are due. */
const PACE = 1
/** Milliseconds until the generator replaces a broken connection. */
const AGAIN = 100

async function run(options: OfferOptions): Promise<OfferResult> {
  const latencies: number[] = []
  const counts = { sent: 0, refused: 0, unsent: 0, broken: 0 }
  let measuring = false
  let stopping = false
  const nextRequest = requests(options)
  const free: ((at: number) => void)[] = []

  const open = (): void => {
    const socket: Socket = connect(options.port, '127.0.0.1').setNoDelay(true)
    let sentAt: number | undefined
    let isGood = false
    /** Bytes of the answer that are still to come; undefined between answers. */
    let missing: number | undefined
    const send = (at: number) => {
      counts.sent++
      sentAt = at
      socket.write(nextRequest(), 'latin1')
    }
    socket.on('connect', () => free.push(send))
    socket.on('data', (chunk: Buffer) => {
      if (missing === undefined) {
        isGood = isSuccess(chunk)
        missing = lengthOf(chunk)
      }
      missing -= chunk.length
      if (missing > 0) return
      missing = undefined
      if (measuring && sentAt !== undefined) {
        if (isGood) latencies.push(performance.now() - sentAt)
        else counts.refused++
      }
      sentAt = undefined
      if (!stopping) free.push(send)
    })
    socket.on('error', () => counts.broken++)
    socket.on('close', () => {
      const place = free.indexOf(send)
      if (place >= 0) free.splice(place, 1)
      if (!stopping) setTimeout(open, AGAIN)
    })
  }
  for (let i = 0; i < options.connections; i++) open()

  let last = performance.now()
  let due = 0
  const pace = setInterval(() => {
    const now = performance.now()
    due += ((now - last) * options.rate) / 1000
    last = now
    for (; due >= 1; due--) {
      const send = free.pop()
      if (send === undefined) break
      send(performance.now())
    }
    if (measuring) counts.unsent += Math.floor(due)
    due %= 1
  }, PACE)
  await sleep(WARM_UP)
  measuring = true
  const startedAt = performance.now()
  await sleep(options.seconds * 1000)
  measuring = false
  stopping = true
  clearInterval(pace)
  const seconds = (performance.now() - startedAt) / 1000
  await sleep(200)
  return {
    perSecond: latencies.length / seconds,
    refused: counts.refused / seconds,
    unsent: counts.unsent / seconds,
    ...quantilesOf(latencies),
    sent: counts.sent,
    broken: counts.broken,
  }
}

if (import.meta.main) {
  console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as OfferOptions)))
  process.exit()
}
