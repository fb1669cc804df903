import { connect, type Socket } from 'node:net'

/**
 * The load generator: a process of its own that keeps a number of connections busy, each with one request at a time, and
 * prints what came of it as one line of JSON. It speaks HTTP over plain sockets, because any HTTP client of this runtime
 * costs more than the server that it would measure.
 */
export interface LoadOptions {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  readonly token: string
  /** `create`: new plants, ids counting up from `firstId`; `random`: new plants, ids all over int64; else a path to GET. */
  readonly work: string
  readonly firstId: number
}

export interface LoadResult {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly failed: number
  /** Creates answered 200 in the whole run, warm-up included. */
  readonly acknowledged: number
  /** Share of the time that the generator's event loop was busy. */
  readonly utilization: number
}

const WARM_UP = 1000
/** Of `HTTP/1.1 200 OK`. */
const FIRST_STATUS_DIGIT = 9
const DIGIT_TWO = 0x32
const CLOSING_BRACE = 0x7d
const NAMES = [
  'Monstera deliciosa',
  'Ficus lyrata',
  'Calathea orbifolia',
  'Aloe vera',
  'Crassula ovata',
  'Hoya carnosa',
]
const TAGS = ['houseplant', 'succulent', 'fern', 'tree']

async function run(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  let measuring = false
  let stopping = false
  let failed = 0
  let acknowledged = 0
  const nextRequest = requests(options)

  const drive = (socket: Socket): void => {
    let sentAt = 0
    let status = 0
    const send = () => {
      sentAt = performance.now()
      socket.write(nextRequest(), 'latin1')
    }
    socket.on('connect', send)
    socket.on('data', (chunk: Buffer) => {
      if (status === 0) status = chunk[FIRST_STATUS_DIGIT] ?? 0
      // Every answer here is one JSON object, so its last byte tells that it is whole.
      if (chunk.at(-1) !== CLOSING_BRACE) return
      if (status === DIGIT_TWO) acknowledged++
      else failed++
      status = 0
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

function requests({ work, token, firstId }: LoadOptions): () => string {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`
  if (work.startsWith('/')) return () => `GET ${work} HTTP/1.1\r\n${head}\r\n`
  let count = firstId
  const ids = work === 'random' ? randomIds(BigInt(firstId)) : () => count
  return () => {
    const body = `{"id":${ids()},"name":"${NAMES[count % NAMES.length]} ${count}","tag":"${TAGS[count % TAGS.length]}"}`
    count++
    const length = body.length
    return `POST /plants HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`
  }
}

/** SplitMix64 of a counter: every id once, in no order. */
function randomIds(seed: bigint): () => bigint {
  let state = seed
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n)
    let z = state
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn)
    return BigInt.asIntN(64, z ^ (z >> 31n))
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

if (import.meta.main) {
  console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as LoadOptions)))
  process.exit()
}
