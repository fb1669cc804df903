import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from 'pino'
import { Histogram, Windows } from '../../base/counts.ts'
import { addressGroup, type ClientAddresses } from '../../base/network.ts'
import { AppError } from '../../domain/errors.ts'
import type { Actor } from '../../domain/token.ts'
import type { Labels, Metrics } from '../metrics/metrics.ts'
import { HttpError } from '../refusal.ts'
import type { Exchange } from '../request/exchange.ts'

/** The ids of clients that the service adopts: short, and safe without quotes in a log, a shell or a path. */
const ADOPTED = /^[A-Za-z0-9._~:@=+-]{1,64}$/

/** The status in the metrics of a request whose client left, as in the log of nginx. */
const CLIENT_GONE = 499

/** Upper bounds of the buckets of answers, in milliseconds. */
const MILLISECONDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000]

/** The answers to one operation so far. */
interface Answers {
  readonly byStatus: Float64Array
  readonly milliseconds: Histogram
}

/** Gives each request an id. Logs and counts its answer, in plain arrays: the library's counters take 0.4 µs each. */
export class RequestLog {
  readonly #log: Logger
  readonly #answers = new Map<string, Answers>()
  readonly #addresses: ClientAddresses
  readonly #refusals: RefusalLog
  /** Unique to this run of the process. */
  readonly #prefix = `${randomBytes(4).toString('hex')}-`
  #count = 0

  constructor(log: Logger, metrics: Metrics, addresses: ClientAddresses) {
    this.#log = log
    this.#addresses = addresses
    this.#refusals = new RefusalLog(log)
    metrics.series('plantstore_http_requests_total', () => this.#requests())
    metrics.series('plantstore_refusals_total', () =>
      [...this.#refusals.counts].map(([error, count]) => [{ error }, count]),
    )
    metrics.histogram('plantstore_http_request_seconds', 1000, () =>
      [...this.#answers].map(([operation, { milliseconds }]) => [{ operation }, milliseconds]),
    )
  }

  /** Returns the id of a request: `X-Request-Id` of its answer, and `req` of its lines in the log. */
  idOf(exchange: Exchange): string {
    if (exchange.requestId === undefined) {
      const sent = exchange.request.headers['x-request-id']
      exchange.requestId = typeof sent === 'string' && ADOPTED.test(sent) ? sent : this.#newId()
    }
    return exchange.requestId
  }

  /** Records an answer that is no refusal. */
  answered(exchange: Exchange, status: number): void {
    this.#done(exchange, status, 'answered')
  }

  /** Records a request that ended without a whole answer. */
  unanswered(exchange: Exchange): void {
    const { reason } = exchange.signal
    if (reason instanceof AppError) this.#observe(exchange, reason.status)
    else this.#done(exchange, CLIENT_GONE, 'the client left')
  }

  refused(exchange: Exchange, refusal: AppError): void {
    this.#refusals.write(refusal, () => this.#fieldsOf(exchange))
    this.#observe(exchange, refusal.status)
  }

  /** Logs the reason for which the service cut an answer off. `unanswered` then records the request. */
  cutOff(exchange: Exchange, refusal: AppError): void {
    this.#refusals.write(refusal, () => ({ ...this.#fieldsOf(exchange), brokenOff: true }))
  }

  /**
   * Records a refusal on a connection without a request to answer.
   *
   * @returns the id of the refusal in the log
   */
  note(refusal: AppError, address: string | undefined): string {
    const req = this.#newId()
    this.#refusals.write(refusal, () => ({ req, address: this.#addresses.of(address, {}) }))
    this.#countAnswer('none', refusal.status, 0)
    return req
  }

  #newId(): string {
    return this.#prefix + (this.#count++).toString(36)
  }

  #done(exchange: Exchange, status: number, message: string): void {
    if (this.#log.levelVal <= DEBUG) this.#log.debug({ ...this.#fieldsOf(exchange), status }, message)
    this.#observe(exchange, status)
  }

  #observe(exchange: Exchange, status: number): void {
    this.#countAnswer(exchange.operation?.id ?? 'none', status, performance.now() - exchange.startedAt)
  }

  /** Counts an answer. `operation` is `none` for a request that fits no operation. */
  #countAnswer(operation: string, status: number, milliseconds: number): void {
    let answers = this.#answers.get(operation)
    if (answers === undefined) {
      answers = { byStatus: new Float64Array(600), milliseconds: new Histogram(MILLISECONDS) }
      this.#answers.set(operation, answers)
    }
    answers.byStatus[status] = (answers.byStatus[status] ?? 0) + 1
    answers.milliseconds.observe(milliseconds)
  }

  *#requests(): Generator<readonly [Labels, number]> {
    for (const [operation, { byStatus }] of this.#answers) {
      for (const [status, count] of byStatus.entries()) if (count > 0) yield [{ operation, status }, count]
    }
  }

  /** The fields of a request in the log. Leaves out query, headers and body, which may hold secrets. */
  #fieldsOf(exchange: Exchange) {
    const { request, operation, identity, startedAt } = exchange
    return {
      req: this.idOf(exchange),
      trace: traceIn(request.headers),
      operation: operation?.id ?? 'none',
      method: request.method,
      path: loggedPath(request.url),
      token: identity?.actor.id,
      address: this.#addresses.of(request.socket.remoteAddress, request.headers),
      ms: Math.round((performance.now() - startedAt) * 100) / 100,
    }
  }
}

/** Version, trace id, parent id, flags (https://www.w3.org/TR/trace-context/). Later versions may append members. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0+-)([0-9a-f]{32})-(?!0+-)[0-9a-f]{16}-[0-9a-f]{2}(?:$|(?<!^00.*)-)/

/** Returns the id of the trace to which the client's request belongs; undefined without a valid `traceparent`. */
function traceIn({ traceparent }: IncomingHttpHeaders): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  return TRACEPARENT.exec(traceparent)?.[1]
}

/** Pino's number of the level debug. The level may change while the service runs. */
const DEBUG = 20
/** Lines per WINDOW about one error number, and of those about one address. */
const MAX_LINES = 20
const MAX_LINES_PER_ADDRESS = 5
/** Milliseconds. */
const WINDOW = 1000
/** Characters of a message in the log. */
const MAX_MESSAGE = 400
/** Characters of a path in the log. */
const MAX_PATH = 200

interface RefusalFields {
  readonly address: string
  readonly [field: string]: unknown
}

/**
 * Writes refusals to the log: all of them at level debug, else a few per second of each error number, and fewer of each
 * address. The next line about the same number has the number of suppressed lines.
 */
export class RefusalLog {
  /** All refusals by their numbers, also those that no client gets. */
  readonly counts = new Map<number, number>()
  readonly #log: Logger
  readonly #lines = new Windows(WINDOW)

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param about makes the fields of the line; not called once a second has all its lines of the number */
  write(refusal: AppError, about: () => RefusalFields): void {
    const { status, number, cause } = refusal
    this.counts.set(number, (this.counts.get(number) ?? 0) + 1)
    const fields = this.#log.levelVal <= DEBUG ? about() : this.#admitted(number, about)
    if (fields === undefined) return
    const all = { ...fields, status, error: number }
    const message = cutShort(refusal.message, MAX_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }

  #admitted(error: number, about: () => RefusalFields): object | undefined {
    const lines = this.#lines.of(String(error))
    const fields = lines.count < MAX_LINES ? about() : undefined
    const ofAddress = fields && this.#lines.of(`${error} ${addressGroup(fields.address)}`)
    if (ofAddress === undefined || ofAddress.count >= MAX_LINES_PER_ADDRESS) {
      lines.omitted++
      return undefined
    }
    lines.count++
    ofAddress.count++
    const suppressed = lines.omitted
    lines.omitted = 0
    return suppressed > 0 ? { ...fields, suppressed } : fields
  }
}

/** The path of a URL, cut short, without the query, which may hold data of the client. */
const loggedPath = (url = ''): string => cutShort(url.split('?', 1)[0] ?? '', MAX_PATH)

const cutShort = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`)

/**
 * Milliseconds. Within them, all refusals of one operation to one token with one number get a single line, and so do all
 * uses of one revoked token by one address: else a token without rights could fill the disk.
 */
const GATHER_INTERVAL = 60_000
/** Refusals under load, which get no line: nothing was done, and a client that retries gets many of them. */
const LOAD_REFUSALS: readonly number[] = [42901, 50302, 50303, 50304]

/** Writes the changes by requests, and their refusals, to the audit log. */
export class AuditTrail {
  readonly #log: AuditLog
  readonly #addresses: ClientAddresses
  readonly #requestIdOf: (exchange: Exchange) => string
  readonly #gathered = new Windows(GATHER_INTERVAL)

  constructor(log: AuditLog, addresses: ClientAddresses, requestIdOf: (exchange: Exchange) => string) {
    this.#log = log
    this.#addresses = addresses
    this.#requestIdOf = requestIdOf
  }

  /** Call it with each successful request. */
  answered(exchange: Exchange): void {
    const { change } = exchange
    if (change === undefined || !this.#log.isOn) return
    this.#write(exchange, change.outcome ?? 'done')
  }

  /** Call it with each refused request, and with each request whose client left before its work ended. */
  refused(exchange: Exchange, error: unknown): void {
    if (!this.#log.isOn) return
    if (error instanceof HttpError && error.revoked !== undefined) this.#revokedUse(exchange, error.revoked)
    const { change, operation, identity } = exchange
    if (identity === undefined || operation === undefined || operation.method === 'GET') return
    const number = error instanceof AppError ? error.number : undefined
    if (change?.isGradual === true) this.#write(exchange, 'broken off', number)
    else if (number === undefined) {
      // A request whose client left before its work began changes nothing.
      if (!exchange.isOver) this.#write(exchange, 'unknown', 50001)
    } else if (number === 50301) this.#write(exchange, 'unknown', number)
    else if (!LOAD_REFUSALS.includes(number)) {
      this.#gather(`${identity.actor.id} ${operation.id} ${number}`, (omitted) =>
        this.#write(exchange, 'refused', number, omitted),
      )
    }
  }

  /** Writes that a gradual change begins, so that the log has a line of it even after a crash. */
  begins(exchange: Exchange): void {
    if (this.#log.isOn) this.#write(exchange, 'began')
  }

  #write(exchange: Exchange, outcome: string, error?: number, omitted?: object): void {
    const { identity, operation, change } = exchange
    if (identity === undefined || operation === undefined) return
    this.#log.write({
      operation: operation.id,
      outcome,
      actor: identity.actor,
      plant: change?.plant,
      error,
      details: omitted === undefined ? change?.details?.() : { ...change?.details?.(), ...omitted },
      address: this.#addressOf(exchange),
      request: this.#requestIdOf(exchange),
    })
  }

  #revokedUse(exchange: Exchange, actor: Actor): void {
    const address = this.#addressOf(exchange)
    this.#gather(`${actor.id} ${addressGroup(address)}`, (details) => {
      const request = this.#requestIdOf(exchange)
      this.#log.write({ operation: 'useRevokedToken', outcome: 'refused', actor, details, address, request })
    })
  }

  /** Calls `write` once in GATHER_INTERVAL for each key, with the number of calls that it has left out before. */
  #gather(key: string, write: (omitted: object | undefined) => void): void {
    const lines = this.#gathered.of(key)
    if (lines.count++ > 0) {
      lines.omitted++
      return
    }
    const { omitted } = lines
    lines.omitted = 0
    write(omitted === 0 ? undefined : { omitted })
  }

  #addressOf({ request }: Exchange): string {
    return this.#addresses.of(request.socket.remoteAddress, request.headers)
  }
}

/** An action and its actor. An entry never holds a secret, nor the name or tag of a plant. */
interface AuditEntry {
  /** An operation of the contract, or the action of a command. */
  readonly operation: string
  /** The result, such as `created`, `refused`, or `unknown` where the action may or may not have been done. */
  readonly outcome: string
  readonly actor: Actor
  /** The id of the plant. */
  readonly plant?: string | undefined
  /** The number of a refusal. */
  readonly error?: number | undefined
  /** Further members. */
  readonly details?: object | undefined
  /** The address of the client; absent for a command. */
  readonly address?: string
  /** The id of the request, which is safe in JSON. */
  readonly request?: string
  /** The user who runs a command. */
  readonly user?: string
}

/** Takes lines of JSON with a line feed. `write` never waits, fails or throws. */
interface Lines {
  write(line: string): void
}

interface Who {
  readonly actor: Actor
  readonly address: string | undefined
  readonly text: string
}

/**
 * Writes entries as lines of JSON, in the terms of the service's log.
 *
 * Concatenates the JSON itself, and the parts that consecutive lines share only once, because every create writes a
 * line.
 */
export class AuditLog {
  readonly #lines: Lines
  readonly #isOn: () => boolean
  /** The members that the last line has about its actor, who stays the same object while the token is cached. */
  #who: Who | undefined
  #time = Number.NaN
  #head = ''

  /** @param isOn returns false while nobody takes the lines, so that callers need not make them */
  constructor(lines: Lines, isOn: () => boolean = () => true) {
    this.#lines = lines
    this.#isOn = isOn
  }

  get isOn(): boolean {
    return this.#isOn()
  }

  /** The id of a plant is a string, because many programs that collect logs round large numbers. */
  write({ operation, outcome, actor, plant, error, details, address, request, user }: AuditEntry): void {
    let line = `${this.#headAt(Date.now())}"${operation}","outcome":"${outcome}"`
    if (plant !== undefined) line += `,"plant":"${plant}"`
    if (error !== undefined) line += `,"error":${error}`
    if (details !== undefined) line += membersOf(details)
    line += this.#textOf(actor, address)
    if (request !== undefined) line += `,"req":"${request}"`
    if (user !== undefined) line += `,"user":${JSON.stringify(user)}`
    this.#lines.write(`${line}}\n`)
  }

  #headAt(time: number): string {
    if (time !== this.#time) {
      this.#time = time
      this.#head = `{"level":30,"time":"${new Date(time).toISOString()}","msg":"audit","operation":`
    }
    return this.#head
  }

  #textOf(actor: Actor, address: string | undefined): string {
    if (this.#who?.actor !== actor || this.#who.address !== address) {
      const { id, name } = actor
      this.#who = { actor, address, text: membersOf({ token: id, tokenName: name, address }) }
    }
    return this.#who.text
  }
}

function membersOf(details: object): string {
  const members = JSON.stringify(details).slice(1, -1)
  return members === '' ? '' : `,${members}`
}

export const NO_AUDIT = new AuditLog({ write: () => {} }, () => false)
