import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSuccess, lengthOf, quantilesOf, WARM_UP } from './answers.ts'
import { requests, type WorkOptions } from './requests.ts'

/**
 * The load generator: a separate process that keeps a number of connections busy, each with one request at a time, and
 * prints its result as one line of JSON. It speaks HTTP over plain sockets, because any HTTP client of this runtime
 * takes more time than the measured server.
 */
export interface LoadOptions extends WorkOptions {
  readonly port: number
  readonly connections: number
  readonly seconds: number
}

export interface LoadResult {
  readonly perSecond: number
  /** Response times in milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly failed: number
  /** Requests answered 2xx in the whole run, warm-up included. */
  readonly acknowledged: number
  /** The share of the time in which the event loop of the generator was busy. */
  readonly utilization: number
}

async function run(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  let measuring = false
  let stopping = false
  let failed = 0
  let acknowledged = 0
  const nextRequest = requests(options)

  const drive = (socket: Socket): void => {
    let sentAt = 0
    /** Bytes of the current answer that are still to come; undefined between answers. */
    let missing: number | undefined
    const send = () => {
      sentAt = performance.now()
      socket.write(nextRequest(), 'latin1')
    }
    socket.on('connect', send)
    socket.on('data', (chunk: Buffer) => {
      if (missing === undefined) {
        if (isSuccess(chunk)) acknowledged++
        else failed++
        missing = lengthOf(chunk)
      }
      missing -= chunk.length
      if (missing > 0) return
      missing = undefined
      if (measuring) latencies.push(performance.now() - sentAt)
      if (stopping) socket.end()
      else send()
    })
    socket.on('error', () => failed++)
  }

  for (let i = 0; i < options.connections; i++) {
    const socket = connect({ port: options.port, host: '127.0.0.1' })
    socket.setNoDelay(true)
    drive(socket)
  }
  await sleep(WARM_UP)
  measuring = true
  const startedAt = performance.now()
  const before = performance.eventLoopUtilization()
  await sleep(options.seconds * 1000)
  measuring = false
  stopping = true
  const seconds = (performance.now() - startedAt) / 1000
  const { utilization } = performance.eventLoopUtilization(before)
  await sleep(200)
  return {
    perSecond: latencies.length / seconds,
    ...quantilesOf(latencies),
    failed,
    acknowledged,
    utilization,
  }
}

if (import.meta.main) {
  console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as LoadOptions)))
  process.exit()
}
