import { connect, type Socket } from 'node:net'
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

const WARM_UP = 1000
/** Of `HTTP/1.1 200 OK`. */
const FIRST_STATUS_DIGIT = 9
const DIGIT_TWO = 0x32

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
        if (chunk[FIRST_STATUS_DIGIT] === DIGIT_TWO) acknowledged++
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
    const socket = connect(options.port, '127.0.0.1')
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
  latencies.sort((a, b) => a - b)
  const quantile = (q: number) => latencies[Math.floor(latencies.length * q)] ?? Number.NaN
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(0.5),
    p99: quantile(0.99),
    failed,
    acknowledged,
    utilization,
  }
}

/** Bytes of an answer, by its first chunk, which has the whole head. */
export function lengthOf(chunk: Buffer): number {
  const head = chunk.toString('latin1', 0, chunk.indexOf(HEAD_END))
  return head.length + HEAD_END.length + Number.parseInt(head.slice(head.indexOf(LENGTH) + LENGTH.length), 10)
}

const HEAD_END = '\r\n\r\n'
const LENGTH = '\r\nContent-Length: '

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

if (import.meta.main) {
  console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as LoadOptions)))
  process.exit()
}
