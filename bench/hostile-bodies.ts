import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/free-port.ts'
import { SHAPES, type Shape } from './hostile-shapes.ts'
import type { Hold } from './loop-probe.ts'

const TOKEN = 'bench-only-k7Qz3fV0pW9mX2rT5sN8'
/** The most milliseconds for which a request may block the event loop. */
const LIMIT = 50
/** Milliseconds between two creates of another client. */
const PACE = 10

/**
 * Sends each hostile shape to the service as it ships. Prints how long each blocked the event loop, and the longest
 * time of an ordinary create meanwhile.
 *
 * @returns the names of the shapes that blocked the event loop for too long
 */
export async function measureHostileBodies(rounds: number): Promise<string[]> {
  const service = await Service.start()
  const slow: string[] = []
  try {
    await service.send({ name: '', ...ordinary(1) })
    for (let i = 0; i < 200; i++) await service.send({ name: '', ...ordinary(i) })
    console.log('event loop blocked, by processor time / wall clock; the slowest create meanwhile; status')
    for (const shape of [{ name: '(nothing)', ...ordinary(0) }, ...SHAPES]) {
      const { processor, wall, other, status } = await service.measure(shape, rounds)
      if (processor > LIMIT) slow.push(shape.name)
      const figures = [processor, wall, other].map((figure) => `${figure.toFixed(0).padStart(6)} ms`)
      console.log(`${figures.join(' ')}  ${status}  ${processor > LIMIT ? '! ' : ''}${shape.name}`)
    }
  } finally {
    await service.stop()
  }
  return slow
}

const ordinary = (id: number): Omit<Shape, 'name'> => ({
  method: 'POST',
  path: '/plants',
  headers: { 'Content-Type': 'application/json' },
  body: Buffer.from(`{"id":${1_000_000 + id},"name":"Monstera deliciosa","tag":"houseplant"}`),
})

class Service {
  readonly #process: ReturnType<typeof fork>
  readonly #folder: string
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true })
  #nextId = 1000

  private constructor(process: ReturnType<typeof fork>, folder: string, port: number) {
    this.#process = process
    this.#folder = folder
    this.#port = port
  }

  static async start(): Promise<Service> {
    const folder = mkdtempSync(join(tmpdir(), 'plantstore-hostile-'))
    const port = await freePort()
    const service = fork(join(import.meta.dirname, '../bin/plantstore.js'), ['serve', '--log-level', 'error'], {
      execArgv: ['--max-semi-space-size=12', '--import', join(import.meta.dirname, 'loop-probe.ts')],
      env: {
        ...process.env,
        PLANTSTORE_PORT: String(port),
        PLANTSTORE_TOKEN: TOKEN,
        PLANTSTORE_STORE: `sqlite:${join(folder, 'plants.db')}`,
      },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    const ended = once(service, 'exit').then(() => Promise.reject(new Error('the service did not start')))
    await Promise.race([once(service.stdout as NodeJS.EventEmitter, 'data'), ended])
    ended.catch(() => {})
    service.stdout?.resume()
    return new Service(service, folder, port)
  }

  async measure(shape: Shape, rounds: number): Promise<Hold & { other: number; status: number }> {
    await this.#held()
    let isOver = false
    let other = 0
    const others = (async () => {
      while (!isOver) {
        const startedAt = performance.now()
        await this.send({ name: '', ...ordinary(this.#nextId++) })
        other = Math.max(other, performance.now() - startedAt)
        await sleep(PACE)
      }
    })()
    let status = 0
    for (let round = 0; round < rounds; round++) status = await this.send(shape)
    isOver = true
    await others
    return { ...(await this.#held()), other, status }
  }

  /** @returns the status; 0 if the connection broke */
  send({ method, path, headers, body }: Shape): Promise<number> {
    return new Promise((resolve) => {
      const all = {
        ...headers,
        Authorization: `Bearer ${TOKEN}`,
        ...(body === undefined ? {} : { 'Content-Length': String(body.length) }),
      }
      const outgoing = request({ host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path, headers: all })
      outgoing.on('error', () => resolve(0))
      outgoing.on('response', (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
      })
      outgoing.end(body)
    })
  }

  /** The findings of the probe since the last call. */
  async #held(): Promise<Hold> {
    // The probe counts a block once it is over.
    await sleep(20)
    const answer = once(this.#process, 'message')
    this.#process.send('take')
    const [hold] = (await answer) as [Hold]
    return hold
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
