import assert from 'node:assert/strict'
import type { Agent, IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { http } from '../../src/base/http.ts'
import type { Plant } from '../../src/domain/plant.ts'
import { plantsIn } from './files.ts'
import { TOKEN } from './process.ts'
import { PATIENCE, settled, until } from './until.ts'

export interface Answer {
  readonly status: number
  readonly error: number | undefined
  readonly closes: boolean
  readonly body: string
}

/** Sends one request and reads the whole answer. Rejects if the connection breaks. */
export async function send(
  method: string,
  url: string,
  { agent, body, token = TOKEN }: { agent?: Agent; body?: string; token?: string } = {},
): Promise<Answer> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = (url.startsWith('https:') ? secureRequest : http.request)(
      url,
      { method, headers, ...(agent === undefined ? {} : { agent }) },
      resolve,
    )
    sent.setTimeout(PATIENCE, () => sent.destroy(new Error(`${method} ${url} is not answered`)))
    sent.on('error', reject).end(body)
  })
  const content = await text(response)
  const error = [200, 204].includes(response.statusCode ?? 0)
    ? undefined
    : (JSON.parse(content) as { error: number }).error
  return { status: response.statusCode ?? 0, error, closes: response.headers.connection === 'close', body: content }
}

/** Waits until readiness has this status: the service reuses the result of a check for a second. */
export async function ready(address: string, status: number): Promise<void> {
  const readiness = async () => (await send('GET', `${address}/health/ready`)).status
  await until(async () => (await readiness()) === status, `/health/ready does not become ${status}`)
}

/** Writes a plant as JSON. The id is written as text, because a double may be unable to represent it. */
export const plantBody = (id: bigint, { name, tag }: Plant): string =>
  `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`

/**
 * Clients that create plants one after the other, each over its own keep-alive connection, and record every answer. A
 * client leaves at `Connection: close`, when a connection breaks, or at stop().
 */
export class Load {
  /** The plants whose creates got 200. */
  readonly acknowledged = new Map<bigint, Plant>()
  /** The number of answers with each error number. */
  readonly refused = new Map<number, number>()
  /** The errors of connections that broke before the answer. */
  readonly broken: string[] = []
  readonly done: Promise<void>
  readonly #address: string
  readonly #firstId: bigint
  readonly #nameLength: number
  #next = 0n
  #stopped = false

  constructor(
    address: string,
    { clients = 16, firstId = 0n, nameLength = 20 }: { clients?: number; firstId?: bigint; nameLength?: number } = {},
  ) {
    this.#address = address
    this.#firstId = firstId
    this.#nameLength = nameLength
    this.done = Promise.all(Array.from({ length: clients }, () => this.#client())).then(() => {})
  }

  /** Stops after every client has finished its request. */
  async stop(): Promise<void> {
    this.#stopped = true
    await settled(this.done, 'a request of the load is not answered')
  }

  /** Resolves once this many creates are acknowledged. Fails if no client is left before. */
  async reaches(count: number): Promise<void> {
    await this.until(() => this.acknowledged.size >= count)
    const { size } = this.acknowledged
    assert.ok(size >= count, `only ${size} creates were acknowledged; broken: ${this.broken.slice(0, 3).join(', ')}`)
  }

  /** Resolves when the condition holds, or no client is left. */
  async until(condition: () => boolean): Promise<void> {
    let isOver = false
    void this.done.then(() => {
      isOver = true
    })
    await until(
      () => isOver || condition(),
      () => `the load is stuck behind ${this.acknowledged.size} creates`,
    )
  }

  /** The number of acknowledged plants that the store file lacks, or has with another name or tag. */
  countLost(storePath: string): number {
    return this.#lostFrom(plantsIn(storePath))
  }

  assertAllIn(storePath: string): void {
    this.assertAllAmong(plantsIn(storePath))
  }

  assertAllAmong(stored: ReadonlyMap<bigint, Plant>): void {
    const lost = this.#lostFrom(stored)
    assert.equal(lost, 0, `of ${this.acknowledged.size} acknowledged plants ${lost} were lost or changed`)
  }

  #lostFrom(stored: ReadonlyMap<bigint, Plant>): number {
    return [...this.acknowledged].filter(([id, plant]) => !isSame(stored.get(id), plant)).length
  }

  async #client(): Promise<void> {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    while (!this.#stopped) {
      const id = this.#firstId + this.#next++
      const plant = {
        name: `🌱 plant ${id} `.padEnd(this.#nameLength, 'x'),
        tag: id % 3n === 0n ? undefined : `tag ${id % 7n}`,
      }
      try {
        const { status, error, closes } = await send('POST', `${this.#address}/plants`, {
          agent,
          body: plantBody(id, plant),
        })
        if (status === 200) this.acknowledged.set(id, plant)
        else this.refused.set(error ?? 0, (this.refused.get(error ?? 0) ?? 0) + 1)
        if (closes) break
      } catch (cause) {
        this.broken.push(String(cause))
        break
      }
    }
    agent.destroy()
  }
}

const isSame = (stored: Plant | undefined, sent: Plant): boolean =>
  stored?.name === sent.name && stored.tag === sent.tag
