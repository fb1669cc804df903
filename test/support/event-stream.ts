import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { http } from '../../src/base/http.ts'
import { SECRET, type Service } from './service.ts'
import { settled, until } from './until.ts'

/** An entry of the log of changes as clients read it. */
export interface ReadEntry {
  readonly position: string
  readonly type: string
  readonly time: string
  readonly plant?: { readonly id: number; readonly name: string; readonly tag?: string }
  readonly before?: { readonly id: number; readonly name: string; readonly tag?: string }
  readonly token: string
}

export interface StreamOptions {
  readonly secret?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface ReadEvent {
  /** The names of its fields. */
  readonly names: readonly string[]
  readonly id: string | undefined
  readonly data: string | undefined
}

/** A stream of events that a test reads. */
export class EventStream {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The whole events so far. */
  readonly events: ReadEvent[] = []
  readonly entries: ReadEntry[] = []
  readonly #incoming: IncomingMessage
  #rest = ''
  #hasEnded = false

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming
    this.status = incoming.statusCode ?? 0
    this.headers = incoming.headers
    incoming.setEncoding('utf8')
    incoming.on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n\n')
      this.#rest = parts.pop() ?? ''
      for (const part of parts) this.#take(part)
    })
    incoming.on('error', () => {})
    incoming.on('close', () => {
      this.#hasEnded = true
    })
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the service ended the stream as a whole answer. */
  get isComplete(): boolean {
    return this.#incoming.complete
  }

  #take(event: string): void {
    const fields = new Map(event.split('\n').map((line) => [line.split(':', 1)[0] ?? '', line.replace(/^\w+: /, '')]))
    const [id, data] = [fields.get('id'), fields.get('data')]
    this.events.push({ names: [...fields.keys()], id, data })
    if (data === undefined) return
    const entry = JSON.parse(data) as ReadEntry
    assert.equal(entry.position, id)
    this.entries.push(entry)
  }

  /** Waits until the stream has so many entries. */
  async until(count: number): Promise<ReadEntry[]> {
    await until(
      () => this.entries.length >= count,
      () => `the stream has ${this.entries.length} of ${count} entries`,
    )
    return this.entries
  }

  untilEnded(): Promise<void> {
    return until(() => this.#hasEnded, 'the stream does not end')
  }

  close(): void {
    this.#incoming.destroy()
  }
}

/** Opens a stream of changes, or gets its refusal. */
export function openStream(
  service: Service,
  path = '/changes',
  { secret = SECRET, headers = {} }: StreamOptions = {},
): Promise<EventStream> {
  const { promise, resolve, reject } = Promise.withResolvers<EventStream>()
  const outgoing = http.request({
    path,
    port: service.port,
    host: '127.0.0.1',
    agent: false,
    headers: { Authorization: `Bearer ${secret}`, Accept: 'text/event-stream', ...headers },
  })
  outgoing.on('error', reject)
  outgoing.on('response', (incoming) => resolve(new EventStream(incoming)))
  outgoing.end()
  return settled(promise, `${path} is not answered`)
}
