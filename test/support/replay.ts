import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { entryOf } from '../../client/src/changes.ts'
import { parseExact } from '../../client/src/exact-json.ts'
import { newPlantJson } from '../../src/domain/plant.ts'

/** Where a service is. */
export interface Address {
  readonly port: number
  readonly secret: string
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** A client with so many connections. */
export class ManyConnections {
  readonly #address: Address
  readonly #agent: Agent

  constructor(address: Address, connections: number) {
    this.#address = address
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  send(method: string, path: string, body?: string, type = 'application/json'): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const { port, secret } = this.#address
    const headers = { Authorization: `Bearer ${secret}`, ...(body === undefined ? {} : { 'Content-Type': type }) }
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: this.#agent })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const { statusCode = 0, headers: received } = incoming
      text(incoming).then((whole) => resolve({ status: statusCode, headers: received, body: whole }), reject)
    })
    outgoing.end(body)
    return promise
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Connections that import, which are as many as one token may have, and the rows of each import. */
const IMPORTING = 2
const ROWS = 25
/** Ids on both sides of what a double can hold. */
const FIRST_IDS = [0n, 2n ** 53n, -(2n ** 63n)]

/**
 * Writes over so many connections until about so many plants were changed: creates, replaces, updates, deletes and
 * imports of plants that others write, too.
 *
 * @param seed makes the names of one call differ from those of another
 */
async function writeMuch(client: ManyConnections, count: number, connections: number, seed: number): Promise<void> {
  let written = 0
  const write = async (connection: number): Promise<void> => {
    for (let i = 0; written < count; i++) {
      const id = (FIRST_IDS[i % 3] ?? 0n) + BigInt((i * 31 + connection * 17 + seed) % 3000)
      const name = `"${seed}" ${connection} ${i} é`
      const plant = `{"id":${id},"name":${JSON.stringify(name)},"tag":"t${i % 7}"}`
      const rows = () => Array.from({ length: ROWS }, (_, row) => plant.replace(String(id), String(id + BigInt(row))))
      const writes = [
        () => client.send('DELETE', `/plants/${id}`),
        () => client.send('POST', '/plants', plant),
        () => client.send('PUT', `/plants/${id}`, JSON.stringify({ name })),
        () => client.send('PATCH', `/plants/${id}`, JSON.stringify({ tag: i % 3 === 0 ? null : name })),
        () => client.send('POST', '/plants/import?mode=update', rows().join('\n'), 'application/x-ndjson'),
      ]
      const which = connection < IMPORTING ? 4 : i % 4
      const { status = 0 } = (await writes[which]?.()) ?? {}
      assert.ok([200, 201, 204, 404, 409].includes(status), `a write is answered with ${status}`)
      written += status >= 400 ? 0 : which === 4 ? ROWS : 1
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, connection) => write(connection)))
}

/** An export that follows the changes. */
export class Replay {
  readonly #lines = new Map<string, string>()
  #position: string
  /** The entries so far. */
  entries = 0

  /** @param file an export as NDJSON, with its position */
  constructor({ body, headers }: Answer) {
    for (const line of body.split('\n')) if (line !== '') this.#lines.set(idOf(line), line)
    this.#position = String(headers['plantstore-position'])
  }

  /** Reads the changes up to the end, and applies each, whose `before` must be what there is. */
  async follow(client: ManyConnections): Promise<void> {
    for (let path = `/changes?limit=1000&after=${this.#position}`; ; ) {
      const { status, headers, body } = await client.send('GET', path)
      assert.equal(status, 200, body)
      const entries = (parseExact(body) as unknown[]).map(entryOf)
      for (const { position, plant, before } of entries) {
        assert.ok(position > this.#position, 'positions grow')
        this.#position = position
        const [line, lineBefore] = [plant, before].map((one) => one && newPlantJson({ tag: undefined, ...one }))
        const id = idOf(line ?? lineBefore ?? '')
        assert.equal(this.#lines.get(id), lineBefore, 'each entry begins where the one before it ended')
        if (line === undefined) this.#lines.delete(id)
        else this.#lines.set(id, line)
      }
      this.entries += entries.length
      if (entries.length === 0) return
      path = /<(.*)>/.exec(String(headers['link']))?.[1] ?? ''
    }
  }

  /** The export that the store must give now. */
  get file(): string {
    const compare = (one: string, other: string) => (BigInt(one) < BigInt(other) ? -1 : 1)
    return [...this.#lines.keys()]
      .sort(compare)
      .map((id) => `${this.#lines.get(id)}\n`)
      .join('')
  }
}

const idOf = (line: string): string => /^\{"id":(-?\d+),/.exec(line)?.[1] ?? assert.fail(`${line} is no plant`)

/**
 * Exports while others write, and proves that the export with the changes after it is what a later export gives.
 *
 * @returns the entries that were applied
 */
export async function proveReplay(address: Address, count: number, connections: number, seed: number): Promise<number> {
  const client = new ManyConnections(address, connections + 2)
  const exported = () => client.send('GET', '/plants/export')
  try {
    await writeMuch(client, count / 10, connections, seed)
    const writing = writeMuch(client, count, connections, seed + 1)
    const replay = new Replay(await exported())
    await replay.follow(client)
    await writing
    await replay.follow(client)
    assert.equal(replay.file, (await exported()).body)
    return replay.entries
  } finally {
    client.close()
  }
}
