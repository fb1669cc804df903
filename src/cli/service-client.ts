import type { IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { asksForSignIn, PlantstoreClient, PlantstoreError, PlantstoreUnreachable } from '../../client/src/index.ts'
import { Foreign, judgeMessage, type Refusal } from '../../client/src/judge.ts'
import { http } from '../base/http.ts'
import { OperatorError, usageError } from '../base/operator-error.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import type { Flags } from './command.ts'

type Target =
  | { readonly kind: 'service'; readonly service: Service }
  | { readonly kind: 'store'; readonly address: StoreAddress }

/** @throws OperatorError (exit code 2) when the flags contradict each other, or the address or the token is missing */
export function targetOf({ url, store }: Flags, config: Config): Target {
  if (url === undefined) return { kind: 'store', address: config.store }
  if (store !== undefined) throw usageError('--url and --store', 'give only one of them')
  const address = serviceAddress(url)
  if (config.token === undefined) throw usageError('--url', 'set PLANTSTORE_TOKEN to an access token of the service')
  return { kind: 'service', service: new Service(address, config.token) }
}

/** @throws OperatorError (exit code 2) like targetOf, also without --url */
export function serviceOf(flags: Flags, config: Config): Service {
  const target = targetOf(flags, config)
  if (target.kind === 'service') return target.service
  throw usageError('--url', 'give the address of the service, such as http://127.0.0.1:8080')
}

function serviceAddress(text: string): URL {
  const url = URL.parse(text)
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isAddress) throw usageError('--url', `"${text}" is not an address like http://127.0.0.1:8080`)
  if (url.username !== '' || url.password !== '') throw usageError('--url', 'must not hold a user name or password')
  return url
}

/** Thrown when the service is out of reach or busy. The same request may succeed later. */
export class Unavailable extends OperatorError {
  /** Milliseconds after which the service asks for a retry; 0 when it does not. */
  retryAfter = 0
}

/** A running service, with the words of a command for what fails. */
export class Service {
  readonly #address: string
  readonly #client: PlantstoreClient
  readonly #token: string
  readonly #fetch: typeof fetch
  #wasReached = false

  /** @param address without a query. The service's paths follow its path, which may be the prefix of a proxy */
  constructor(address: URL, token: string) {
    this.#address = address.href
    this.#token = token
    this.#fetch = fetchOn(address.protocol)
    this.#client = new PlantstoreClient({ url: address, token, attempts: 1, fetch: this.#fetch })
  }

  /**
   * Posts a message to a path that the contract does not have.
   *
   * @param isRequest whether the message asks for an answer
   * @returns the text of the answered message, or the refusal of the service
   * @throws like `call`
   */
  post(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer<ArrayBuffer>,
    isRequest: boolean,
  ): Promise<string | Refusal> {
    const authorization = `Bearer ${this.#token}`
    const url = this.#address.replace(/\/?$/, path)
    return this.call(async () => {
      const response = await this.#fetch(url, { method: 'POST', headers: { ...headers, authorization }, body })
      const answer = await judgeMessage(response, isRequest)
      if (typeof answer !== 'string' && answer.number === 0) throw new Foreign(response.status, answer.message)
      return answer
    })
  }

  /** Calls the client once. @throws Unavailable, or OperatorError when a retry can't help */
  async call<T>(operation: (client: PlantstoreClient) => Promise<T>): Promise<T> {
    try {
      const value = await operation(this.#client)
      this.#wasReached = true
      return value
    } catch (error) {
      throw this.#fault(error)
    }
  }

  /** Yields the bytes of a stream. Ends without an error only after the last byte. */
  async *bytes(open: (client: PlantstoreClient) => Promise<ReadableStream<Uint8Array>>): AsyncGenerator<Uint8Array> {
    const stream = await this.call(open)
    try {
      yield* stream
    } catch (error) {
      throw this.#fault(error)
    }
  }

  #fault(error: unknown): unknown {
    if (error instanceof PlantstoreError) {
      this.#wasReached ||= error.number !== 0
      return refusal(this.#address, error, this.#wasReached)
    }
    const cause = error instanceof PlantstoreUnreachable ? error.cause : error
    if (!(cause instanceof Error) || cause instanceof OperatorError) return cause
    const code = cause.name === 'TimeoutError' ? 'ETIMEDOUT' : 'code' in cause ? String(cause.code) : ''
    // The client cannot read the answer. A service that was reached is there again once the network lets it through.
    if (cause instanceof Foreign || (code === '' && error !== cause)) {
      const answered = cause instanceof Foreign ? ` answered ${cause.status}` : ''
      const said = `${this.#address}${answered}: ${NOT_PLANTSTORE}`
      return this.#wasReached ? new Unavailable(said, { cause }) : new OperatorError(said, { cause })
    }
    if (code === '') return cause
    const unreached = UNREACHED[code] ?? (UNTRUSTED.test(code) ? `${UNTRUSTED_WHY} (${code})` : undefined)
    const message = `${this.#address}: ${unreached ?? `the connection broke (${code})`}`
    // Before the first connection, the address is probably wrong, which a retry does not change.
    this.#wasReached ||= BROKEN.includes(code)
    const isTransient = this.#wasReached && (unreached !== undefined || BROKEN.includes(code))
    return isTransient ? new Unavailable(message, { cause }) : new OperatorError(message, { cause })
  }
}

/**
 * Makes a `fetch` of Node.js' own HTTP. The global one refuses to connect to some ports
 * (https://fetch.spec.whatwg.org/#port-blocking), and its errors have the codes one level deeper.
 */
function fetchOn(protocol: string): typeof fetch {
  const [Agent, send] = protocol === 'https:' ? [HttpsAgent, httpsRequest] : [http.Agent, http.request]
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return async (input, init) => {
    const { url, method, headers, body, signal } = new Request(input, init)
    const outgoing = send(url, { method, agent, headers: Object.fromEntries(headers) })
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      signal.addEventListener('abort', () => outgoing.destroy(signal.reason))
      outgoing.on('response', resolve)
      outgoing.on('error', reject)
      if (body === null) outgoing.end()
      else pipeline(body, outgoing).catch(reject)
    })
    const { statusCode = 0, headers: answered } = answer
    const named = Object.entries(answered).map(([name, value]): [string, string] => [name, String(value)])
    return new Response(BODILESS.includes(statusCode) ? null : Readable.toWeb(answer), {
      status: statusCode,
      headers: named,
    })
  }
}

function refusal(address: string, refused: PlantstoreError, wasReached: boolean): OperatorError {
  const { number, status, message, retryAfter = 0 } = refused
  const said = `${address} answered ${status}: ${number === 0 ? NOT_PLANTSTORE : `error ${number}: ${message}`}`
  if (!TRANSIENT.includes(status) && !(wasReached && asksForSignIn(refused))) return new OperatorError(said)
  const error = new Unavailable(said)
  error.retryAfter = retryAfter * 1000
  return error
}

const BODILESS: readonly number[] = [204, 205, 304]
const TRANSIENT: readonly number[] = [408, 429, 502, 503, 504]
const BROKEN: readonly string[] = ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']
const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there; is the service running?',
  ENOTFOUND: 'no host has this name',
  EAI_AGAIN: 'the host name cannot be resolved at the moment',
}
/** Codes of certificates that Node.js does not trust (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const UNTRUSTED = /CERT|UNABLE_TO_|SIGNATURE/
const UNTRUSTED_WHY =
  'its certificate is not trusted; NODE_EXTRA_CA_CERTS=FILE adds an authority of your own to those that are trusted'
const NOT_PLANTSTORE = 'it is not a Plantstore service; is the address right?'
