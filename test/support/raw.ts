import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { assertError, type Seen } from './conforms.ts'
import { isExpected, recordConnection } from './recorder.ts'
import { connectTo } from './transport.ts'
import { settled } from './until.ts'

/**
 * Sends bytes unchanged, and reads until the service closes the connection.
 *
 * @param methods the methods of the requests in order; needed if one of them is HEAD
 */
export async function raw(port: number, bytes: string | Buffer, methods?: readonly string[]): Promise<Seen[]> {
  return answersIn(await new RawConnection(port, bytes).untilClosed(), methods)
}

/** The same, for the statuses of the answers alone. */
export const rawStatuses = async (...sent: Parameters<typeof raw>): Promise<number[]> =>
  (await raw(...sent)).map(({ status }) => status)

/** Sends bytes that are no valid request, and checks that the only answer is a refusal that closes the connection. */
export async function refusalOfBytes(port: number, bytes: string | Buffer): Promise<{ status: number; error: number }> {
  return assertRefusal(await raw(port, bytes))
}

export function assertRefusal(answers: readonly Seen[]): { status: number; error: number } {
  assert.equal(answers.length, 1, JSON.stringify(answers))
  const [{ status, headers, body }] = answers as [Seen]
  assert.equal(headers['content-type'], 'application/json')
  const json = JSON.parse(body) as { error: number }
  assertError(json, status)
  return { status, error: json.error }
}

/** A TCP connection, for tests that control when each byte is sent. */
export class RawConnection {
  readonly socket: Socket
  wasReset = false
  readonly #closed: Promise<void>
  /** Joined only when read: joining each chunk would copy thousands of small answers repeatedly. */
  #chunks: Buffer[] = []
  readonly #sent: Buffer[] = []

  /** @param first what it sends at once */
  constructor(port: number, first: string | Buffer = '') {
    this.socket = connectTo(port)
    // A reset connection counts as closed. The bytes before the reset count.
    this.socket.on('error', () => {
      this.wasReset = true
    })
    this.#closed = new Promise((resolve) => this.socket.once('close', () => resolve()))
    const isToService = isExpected(port)
    this.socket.once('close', () => recordConnection(Buffer.concat(this.#sent), this.#received(), isToService))
    this.socket.on('data', (chunk: Buffer) => this.#chunks.push(chunk))
    if (first.length > 0) this.write(first)
  }

  get received(): string {
    return this.#received().toString('utf8')
  }

  write(bytes: string | Buffer): void {
    this.#sent.push(Buffer.from(bytes))
    this.socket.write(bytes)
  }

  /** Resolves with all received bytes once the service has closed the connection. */
  async untilClosed(): Promise<Buffer> {
    await this.#patiently(this.#closed, 'the connection stays open')
    return this.#received()
  }

  /** Waits until the received bytes contain the text, or match the expression. */
  async until(text: string | RegExp): Promise<void> {
    const hasCome = () => (typeof text === 'string' ? this.received.includes(text) : text.test(this.received))
    while (!hasCome()) {
      const came = Promise.race([new Promise((resolve) => this.socket.once('data', resolve)), this.#closed])
      await this.#patiently(came, () => `"${text}" does not come; "${this.received}" did`)
      if (this.socket.closed && !hasCome()) assert.fail(`closed after "${this.received}"`)
    }
  }

  #received(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] ?? Buffer.alloc(0)
  }

  async #patiently(happening: Promise<unknown>, fault: string | (() => string)): Promise<void> {
    try {
      await settled(happening, fault)
    } catch (error) {
      this.socket.destroy()
      throw error
    }
  }
}

/**
 * Splits a stream of bytes into answers by Content-Length. Answers of 1xx, 204 and 304 have no Content-Length and no
 * body; answers to HEAD have no body.
 */
export function answersIn(bytes: Buffer, methods: readonly string[] = []): Seen[] {
  const answers: Seen[] = []
  for (let rest = bytes; rest.length > 0; ) {
    const headEnd = rest.indexOf('\r\n\r\n')
    assert.notEqual(headEnd, -1, `no whole answer: ${rest.toString('utf8')}`)
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    assert.ok(status >= 100, `no status line: ${statusLine}`)
    const headers: IncomingHttpHeaders = {}
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    const isEmpty = status < 200 || status === 204 || status === 304
    assert.equal(headers['content-length'] === undefined, isEmpty, `Content-Length: ${statusLine}`)
    if (isEmpty) assert.equal(headers['transfer-encoding'], undefined, statusLine)
    const hasBody = methods[answers.length] !== 'HEAD'
    const end = headEnd + 4 + (hasBody ? Number(headers['content-length'] ?? 0) : 0)
    assert.ok(end <= rest.length, 'the answer is cut short')
    answers.push({ status, headers, body: rest.toString('utf8', headEnd + 4, end) })
    rest = rest.subarray(end)
  }
  return answers
}
