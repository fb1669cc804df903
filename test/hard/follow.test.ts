import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { PlantstoreClient } from '../../client/src/index.ts'
import { hasBrowser, withBrowser } from '../support/browser.ts'
import { cleanUp, type Scene } from '../support/clean-up.ts'
import { tempFolder } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import { hasNginx, startNginx } from '../support/nginx.ts'
import { type Server, startServer, TOKEN } from '../support/process.ts'
import { settled, until } from '../support/until.ts'

/** Rows of one import. */
const ROWS = 250
/** Bytes of answers, for each plant, after which the way to the service resets a connection: each reader loses several. */
const CUT = 50

/** What a reader has got so far: the ids of the plants, in the order of their events. */
type Seen = () => Promise<readonly number[]>

/** The plants, with the ids from 0 on. */
const PLANTS = 6000

// The service restarts after a third of the plants, and is killed after another third. All connections of readers break
// again and again. The followers are one in Node.js, and where they are installed one in Chromium, and curl through nginx.
test('followers miss and repeat no change across a restart, a kill and connections that break', async (t) => {
  const folder = tempFolder(t)
  const start = () => startServer(t, folder)
  let server = await start()
  const relay = await openRelay(t, () => server, CUT * PLANTS)
  const readers: Record<string, Seen> = { node: followInNode(t, relay) }
  if (hasBrowser) readers['chromium'] = await followInChromium(t, relay)
  if (hasNginx() && spawnSync('curl', ['--version']).status === 0) readers['curl'] = await followByCurl(t, relay)
  for (let id = 0, ends = 0; id < PLANTS; id += ROWS) {
    if (id >= ((ends + 1) * PLANTS) / 3) {
      // The kill interrupts an import, which is then repeated.
      const interrupted = importRows(server, id).catch(() => {})
      if (ends++ === 0) server.program.signal('SIGTERM')
      else await server.program.kill()
      await Promise.all([server.program.outcome, interrupted])
      server = await start()
    }
    await importRows(server, id)
  }
  for (const [name, seen] of Object.entries(readers)) {
    let got: readonly number[] = []
    const isDone = async () => {
      got = await seen()
      return got.length >= PLANTS
    }
    await until(isDone, () => `${name} has ${got.length} of ${PLANTS} changes`)
    // A whole comparison of such lists would take minutes to print what differs.
    const wrong = got.findIndex((id, i) => id !== i)
    if (wrong !== -1) assert.fail(`as change ${wrong}, ${name} got that of the plant ${got[wrong]}`)
  }
})

async function importRows({ address }: Server, first: number): Promise<void> {
  const client = new PlantstoreClient({ url: address, token: TOKEN, attempts: 1 })
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    id: BigInt(first + i),
    name: `plant ${first + i}`,
    tag: 'new',
  }))
  await client.importPlants(rows)
}

function followInNode(scene: Scene, url: string): Seen {
  const ending = new AbortController()
  const seen: number[] = []
  const follow = async () => {
    const client = new PlantstoreClient({ url, token: TOKEN })
    for await (const { plant } of client.changes({ signal: ending.signal })) seen.push(Number(plant?.id))
  }
  const following = follow()
  following.catch(() => {})
  cleanUp(scene, () => ending.abort())
  return async () => {
    // Fails like the follower.
    await Promise.race([following, undefined])
    return seen
  }
}

const PAGE = `<!doctype html><script type="module">
  import { PlantstoreClient } from '/client.js'
  globalThis.seen = []
  const client = new PlantstoreClient({ url: location.origin, token: '${TOKEN}' })
  try {
    for await (const { plant } of client.changes()) globalThis.seen.push(Number(plant.id))
  } catch (error) {
    globalThis.fault = String(error)
  }
</script>`

async function followInChromium(scene: Scene, url: string): Promise<Seen> {
  const browser = await withBrowser({ after: (work) => cleanUp(scene, work) })
  const page = await browser.newPage()
  const client = readFileSync(new URL('../../client/dist/plantstore-client.js', import.meta.url), 'utf8')
  await page.route('**/page.html', (route) => route.fulfill({ contentType: 'text/html', body: PAGE }))
  await page.route('**/client.js', (route) => route.fulfill({ contentType: 'text/javascript', body: client }))
  await page.goto(`${url}/page.html`)
  return async () => {
    const fault = await page.evaluate<string | undefined>('globalThis.fault')
    if (fault !== undefined) throw new Error(fault)
    return page.evaluate<number[]>('globalThis.seen')
  }
}

/** Follows by curl, as a shell script does: through nginx, and again from the last event after each end. */
async function followByCurl(scene: Scene, url: string): Promise<Seen> {
  const port = await freePort()
  const location = `location / { proxy_pass ${url}; proxy_http_version 1.1; proxy_set_header Connection ""; }`
  const address = await startNginx(scene, `server { listen 127.0.0.1:${port}; ${location} }`, port)
  const seen: number[] = []
  let last: string[] = []
  let isOver = false
  let curl: ReturnType<typeof spawn> | undefined
  const follow = () => {
    const headers = ['Accept: text/event-stream', `Authorization: Bearer ${TOKEN}`, ...last]
    const args = ['-sNf', `${address}/changes`, ...headers.flatMap((header) => ['-H', header])]
    curl = spawn('curl', args, { stdio: ['ignore', 'pipe', 'ignore'] })
    let rest = ''
    curl.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const events = (rest + text).split('\n\n')
      // The end of a broken answer is no event.
      rest = events.pop() ?? ''
      for (const event of events) {
        const [, id] = /^id: (.*)$/m.exec(event) ?? []
        const [, plant] = /^data: .*"plant":\{"id":(\d+)/m.exec(event) ?? []
        if (id !== undefined) last = [`Last-Event-ID: ${id}`]
        if (plant !== undefined) seen.push(Number(plant))
      }
    })
    curl.once('close', () => isOver || setTimeout(follow, 50))
  }
  follow()
  cleanUp(scene, () => {
    isOver = true
    curl?.kill()
  })
  return async () => seen
}

/** Forwards connections to the present server, and resets each after so many bytes of answers. @returns its address */
async function openRelay(scene: Scene, present: () => Server, cut: number): Promise<string> {
  const sockets = new Set<Socket>()
  const relay = createServer((client) => {
    const service = connect(Number(new URL(present().address).port), '127.0.0.1')
    let received = 0
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.on('data', (chunk: Buffer) => {
        received += from === service ? chunk.length : 0
        if (received > cut) for (const each of [client, service]) each.resetAndDestroy()
        else to.write(chunk)
      })
    }
  })
  await settled(once(relay.listen(0, '127.0.0.1'), 'listening'), 'the relay does not listen')
  cleanUp(scene, () => {
    relay.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
}
