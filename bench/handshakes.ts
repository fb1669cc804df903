import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectSecurely } from 'node:tls'
import { Running, SHIPPED, TOKEN } from './contender.ts'

/** Connections that begin a handshake and never finish it, from as many addresses as a service may have clients. */
const FLOOD = 10_000
const ADDRESSES = 100
/** The most milliseconds that they may hold a request of another client. */
const MOST = 100

/** Which bytes of its first message a client of the flood sends. */
const PARTS = {
  'without a byte': 0,
  'without the last byte of the first message': -1,
  'with the first message': undefined,
} as const
type Part = keyof typeof PARTS

interface Task {
  readonly port: number
  readonly part: Part
}

/** Measures how long reads of others take while handshakes that never finish begin, and while they are held. */
export async function measureHandshakes(tls: { readonly cert: string; readonly key: string }): Promise<void> {
  console.log(`${FLOOD} handshakes that never finish, and reads of somebody else, in milliseconds`)
  for (const part of Object.keys(PARTS) as Part[]) {
    const running = await Running.start({ ...SHIPPED, tls }, undefined, 1)
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    const flood = fork(import.meta.filename, { execArgv: [] })
    try {
      const quiet = await longest(running.port, agent, sleep(3000))
      flood.send({ port: running.port, part } satisfies Task)
      const connected = once(flood, 'message') as Promise<[number]>
      const rising = await longest(running.port, agent, connected)
      const held = await longest(running.port, agent, sleep(3000))
      const [count] = await connected
      const said = `${quiet.toFixed(1)} before, ${rising.toFixed(1)} while they come, ${held.toFixed(1)} while ${count} are open`
      console.log(`  ${part}: ${said}  ${Math.max(rising, held) <= MOST ? 'holds' : 'MISSED'}: at most ${MOST}`)
    } finally {
      flood.kill()
      agent.destroy()
      await running.stop()
    }
  }
}

/** Reads one after the other until `end`. @returns milliseconds of the slowest one */
async function longest(port: number, agent: Agent, end: Promise<unknown>): Promise<number> {
  let isOver = false
  void end.then(() => {
    isOver = true
  })
  let most = 0
  for (; !isOver; await sleep(2)) {
    const startedAt = performance.now()
    await read(port, agent)
    most = Math.max(most, performance.now() - startedAt)
  }
  return most
}

function read(port: number, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${TOKEN}` }
    request({ port, host: '127.0.0.1', path: '/plants/1', agent, headers }, (answer) => {
      answer.resume().once('end', resolve)
    })
      .on('error', reject)
      .end()
  })
}

/** The first message of a client. */
async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const client = connectSecurely({ port: (server.address() as { port: number }).port, host: '127.0.0.1' })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  server.close()
  return hello
}

/** Opens the connections, and holds them. */
async function hold({ port, part }: Task): Promise<void> {
  const bytes = (await clientHello()).subarray(0, PARTS[part])
  let open = 0
  for (let i = 0; i < FLOOD; i++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.1.${1 + (i % ADDRESSES)}` })
    socket.on('error', () => {}).resume()
    socket.once('close', () => open--)
    socket.once('connect', () => {
      open++
      if (bytes.length > 0) socket.write(bytes)
    })
    if (i % 100 === 99) await sleep(10)
  }
  await sleep(1000)
  process.send?.(open)
}

if (import.meta.main) process.once('message', (task: Task) => void hold(task))
