import { connect, type Socket } from 'node:net'
import { MAX_NAME, MAX_TAG } from '../src/domain/plant.ts'

/**
 * A client that takes all it can get: a separate process that keeps `depth` requests under way on each of its
 * connections until it is killed, whatever is answered, and writes the number of its answers 2xx and of others each
 * second as a line of JSON. All of its plants are full.
 */
export interface FloodOptions {
  readonly kind: FloodKind
  readonly port: number
  readonly token: string
  readonly connections: number
  readonly depth: number
  /** Stored full plants with the ids from 1 on, of which number 1 has a long history. */
  readonly plants: number
}

export type FloodKind =
  | 'creates'
  | 'patches'
  | 'pages'
  | 'largest pages'
  | 'searches'
  | 'histories'
  | 'changes'
  | 'folded creates'
  | 'folded searches'
  | 'visits'

/** Milliseconds until a connection that the service has closed is replaced. */
const AGAIN = 100

/** The name of a plant that fills its field. */
export const fullName = (id: number): string => `${id} begonia `.padEnd(MAX_NAME, 'x')
const fullTag = (id: number): string => `${id} `.padEnd(MAX_TAG, 'x')
/** A full plant as a line of NDJSON. */
export const fullPlant = (id: number): string => `{"id":${id},"name":"${fullName(id)}","tag":"${fullTag(id)}"}`

/** Folding makes 18 characters of it. */
export const FOLDED = '\ufdfa'
/** A plant with a name that folds to many characters. */
export const foldedPlant = (id: number): string => `{"id":${id},"name":"${FOLDED.repeat(MAX_NAME)}"}`

/** Makes the bytes of the next request. */
function requestsOf({ kind, token, plants }: FloodOptions): () => string {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`
  const get = (path: string) => () => `GET ${path} HTTP/1.1\r\n${head}\r\n`
  const send = (start: string, type: string, body: string) =>
    `${start} HTTP/1.1\r\n${head}Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  let count = 0
  /** Without a token, each from another address, as a proxy tells it. */
  const visit = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count++ & 255}\r\n\r\n`
  switch (kind) {
    case 'creates':
      return () => send('POST /plants', 'application/json', fullPlant(plants + 1 + count++))
    case 'patches':
      return () => {
        const id = 1 + (count % plants)
        const body = `{"name":"${fullName(id + count++)}"}`
        return send(`PATCH /plants/${id}`, 'application/merge-patch+json', body)
      }
    case 'pages':
      return get('/plants?limit=199')
    case 'largest pages':
      return get('/plants?limit=1000')
    case 'searches':
      return get('/plants?limit=1000&q=begonia&sort=name')
    case 'histories':
      return get('/plants/1/history?limit=1000')
    case 'changes':
      return get('/changes?limit=1000')
    case 'folded creates':
      return () => send('POST /plants', 'application/json', foldedPlant(FIRST_FOLDED + FOLDED_PLANTS + count++))
    case 'visits':
      return () => visit(VISITED[count % VISITED.length] ?? '')
    case 'folded searches':
      return get(`/plants?q=${encodeURIComponent(FOLDED)}&limit=1&count=true`)
  }
}

/** What the page asks for: a scanned plant, the first plants, a search and the tags. */
const VISITED = ['/plants/1', '/plants?limit=50', '/plants?q=begonia&limit=50', '/tags?limit=50']

/** The ids of the plants that fold to many characters. */
export const [FIRST_FOLDED, FOLDED_PLANTS] = [100_000_000, 2500]

const answers = { good: 0, refused: 0 }

/** Opens a connection, and another one when the service closes it. */
function flood(options: FloodOptions, nextRequest: () => string): void {
  const socket: Socket = connect(options.port, '127.0.0.1').setNoDelay(true)
  /** Bytes of the head of the answer under way. */
  let head = Buffer.alloc(0)
  /** Bytes of the body that are still to come. */
  let missing = 0
  socket.on('connect', () => {
    for (let i = 0; i < options.depth; i++) socket.write(nextRequest())
  })
  socket.on('data', (data: Buffer) => {
    let chunk = data
    while (chunk.length > 0) {
      const body = Math.min(missing, chunk.length)
      missing -= body
      chunk = chunk.subarray(body)
      if (chunk.length === 0) return
      head = Buffer.concat([head, chunk])
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      const text = head.toString('latin1', 0, end)
      chunk = head.subarray(end + 4)
      head = Buffer.alloc(0)
      missing = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0)
      if (/^HTTP\/1.1 2/.test(text)) answers.good++
      else answers.refused++
      if (socket.writable) socket.write(nextRequest())
    }
  })
  socket.on('error', () => {})
  socket.on('close', () => setTimeout(flood, AGAIN, options, nextRequest))
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? '{}') as FloodOptions
  const nextRequest = requestsOf(options)
  for (let i = 0; i < options.connections; i++) flood(options, nextRequest)
  setInterval(() => console.log(JSON.stringify(answers)), 1000)
}
