import assert from 'node:assert/strict'
import type { IncomingMessage, Server } from 'node:http'
import { type Server as SecureServer, request as secureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import pino, { type Logger } from 'pino'
import { http } from '../../src/base/http.ts'
import type { ChangeLog } from '../../src/domain/changes.ts'
import type { Part } from '../../src/domain/part.ts'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import type { Store } from '../../src/domain/store.ts'
import { hashSecret, makeSecret, makeTokenId, type Scope, type Token } from '../../src/domain/token.ts'
import { AuditLog } from '../../src/http/answer/audit-log.ts'
import type { ServiceState } from '../../src/http/answer/responder.ts'
import { type App, buildApp } from '../../src/http/app.ts'
import type { Agents } from '../../src/http/resources/agents.ts'
import { JwtIssuer } from '../../src/oidc/jwt-issuer.ts'
import { type Config, type DerivedLimits, readConfig, SETTINGS, type SettingValues } from '../../src/settings/config.ts'
import type { Limits } from '../../src/settings/limits.ts'
import { Deliverer } from '../../src/webhooks/deliverer.ts'
import { TESTER } from './actor.ts'
import { deletePlant } from './change-plant.ts'
import type { Scene } from './clean-up.ts'
import { assertConforms, contract, operationIdOf, type Seen } from './conforms.ts'
import { beforeDrops, type EngineUnderTest, openEngine, type StoredRow } from './engine-under-test.ts'
import { decoded } from './http-bytes.ts'
import { expectService } from './recorder.ts'
import { shakeAnswers } from './shake.ts'
import { certificate, newAgent, type Pair } from './transport.ts'
import { PATIENCE } from './until.ts'

/** The configured token of the services of withService. It has all scopes. */
export const SECRET = 'the-configured-secret-of-the-tests'

export interface Answer extends Seen {
  /** The body as JSON.parse reads it. */
  readonly json: unknown
  /** The received body, which may be compressed. */
  readonly bytes: Buffer
  /** The request, for messages. */
  readonly asked: string
}

export interface Sending {
  /** The Authorization header in place of the configured token; null sends none. */
  readonly authorization?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
  /** Sends the body in chunks, without Content-Length. */
  readonly chunked?: boolean
}

/**
 * Starts the whole service on a free port, with a real store in its own folder.
 *
 * @param bounds settings in the form of the command line, and other bounds as they are in Config
 * @param filled the address of a closed store, whose copy this service has
 */
export async function withService(scene: Scene, bounds: Bounds = {}, filled?: string): Promise<Service> {
  const config = configWith(bounds)
  const under = await openEngine(config, filled)
  const { store } = under
  const state: ServiceState = { current: 'serving' }
  const lines: string[] = []
  const log = pino({ level: config.logLevel, base: null }, new Writable({ write: keepIn(lines) }))
  const audited: string[] = []
  const delivery = store.changes && delivererOf(store.changes, store, config, log)
  const app = buildApp({
    config,
    audit: new AuditLog({ write: (line) => audited.push(line) }),
    contract,
    store,
    log,
    issuer: issuerOf(config, log),
    agents: await agentsOf(config),
    state,
    pair: certificate(),
    delivery,
  })
  shakeAnswers(app.clients.server)
  delivery?.start()
  await app.clients.listen({ host: '127.0.0.1', port: 0 })
  const service = new Service({ under, app, state, log: lines, audited })
  const expectNoLonger = expectService(service.port)
  scene.after(async () => {
    expectNoLonger()
    service.agent.destroy()
    app.clients.server.closeAllConnections()
    await app.close()
    await delivery?.close()
    await under.remove()
  })
  return service
}

/** The services that the tests of this process share, by their bounds. */
const shared = new Map<string, Promise<Service>>()
const ends: (() => Promise<void> | void)[] = []
beforeDrops(async () => {
  for (const end of ends.toReversed()) await end()
})

/**
 * Returns the service with these settings that tests of this process share, without plants and webhooks, and with an
 * empty log. It is for tests that leave its tokens, its state, its store and its metrics alone: starting a service for
 * each takes most of their time.
 */
export async function emptyService(bounds: Bounds = {}): Promise<Service> {
  const key = JSON.stringify(bounds)
  const known = shared.get(key) ?? withService({ after: (end) => void ends.push(end) }, bounds)
  shared.set(key, known)
  const service = await known
  // By the service, which stops their deliveries at once.
  const webhooks = await service.store.webhooks.list()
  for (const { webhook } of webhooks) await service.send('DELETE', `/webhooks/${webhook.id}`)
  const plants = await service.plants()
  // As an HTTP client with so many connections, where a token may have 5,000 changes that wait for the search index.
  for (let from = 0; from < plants.length; from += 1000) {
    const some = plants.slice(from, from + 1000)
    await Promise.all(some.map(({ id }) => deletePlant(service.store, id, NO_EXPECTATION, TESTER)))
  }
  service.forget()
  return service
}

/** Delivers to webhooks, as `plantstore serve` does. */
const delivererOf = (changes: ChangeLog, { webhooks }: Store, config: Config, log: Logger): Deliverer =>
  new Deliverer({
    changes,
    webhooks,
    config,
    version: 'test',
    onNotice: (text) => log.warn(text),
  })

/** The protocol of agents, as `plantstore serve` has it. */
async function agentsOf({ mcp }: Config): Promise<Agents | undefined> {
  if (mcp === 'off') return undefined
  const { agentsEndpoint } = await import('../../src/mcp/endpoint.ts')
  return agentsEndpoint('test', contract.document, mcp === 'delete', () => {})
}

const issuerOf = ({ oidcIssuer, ...settings }: Config, log: Logger): JwtIssuer | undefined =>
  oidcIssuer === undefined
    ? undefined
    : new JwtIssuer({ ...settings, oidcIssuer, onOutage: (err) => log.warn({ err }, 'the issuer is away') })

/** Settings as texts, as on the command line; limits as values. */
export type Bounds = Partial<Record<keyof SettingValues, string | undefined>> & Partial<Limits & DerivedLimits>

function configWith(bounds: Bounds): Config {
  const isSetting = ([key]: [string, unknown]): boolean => Object.hasOwn(SETTINGS, key)
  const texts = Object.entries(bounds).filter(isSetting) as [string, string | undefined][]
  const limits = Object.entries(bounds).filter((entry) => !isSetting(entry))
  return { ...readConfig({ token: SECRET, ...Object.fromEntries(texts) }, {}), ...Object.fromEntries(limits) }
}

interface ServiceParts {
  readonly under: EngineUnderTest
  readonly app: App
  readonly state: ServiceState
  readonly log: string[]
  readonly audited: string[]
}

export class Service {
  readonly under: EngineUnderTest
  readonly server: Server | SecureServer
  readonly port: number
  readonly store: Store
  readonly state: ServiceState
  readonly agent = newAgent({ keepAlive: true })
  /** The lines of the audit log. */
  readonly audited: string[]
  readonly #app: App
  readonly #log: string[]

  constructor({ under, app, state, log, audited }: ServiceParts) {
    this.under = under
    this.#app = app
    this.server = app.clients.server
    this.port = (app.clients.server.address() as AddressInfo).port
    this.store = under.store
    this.state = state
    this.#log = log
    this.audited = audited
  }

  useCertificate(pair: Pair): void {
    this.#app.clients.useCertificate(pair)
  }

  /** Empties the log and the audit log. */
  forget(): void {
    this.#log.length = 0
    this.audited.length = 0
  }

  /** The log so far. */
  get log(): string {
    return this.#log.join('')
  }

  /** Sends a request, and checks the answer against the contract of its operation. */
  async send(method: string, path: string, sending: Sending = {}): Promise<Answer> {
    const answer = await this.#exchange(method, path, sending)
    const operationId = operationIdOf(method, path)
    if (operationId !== undefined) {
      const { status, headers, bytes } = answer
      const hasBody = method !== 'HEAD' && status !== 304
      const body = hasBody ? decoded(bytes, headers['content-encoding']).toString('utf8') : ''
      assertConforms(operationId, { status, headers, body }, { hasBody })
    }
    return answer
  }

  /** Sends a body as JSON: a text or bytes unchanged, anything else as JSON writes it. */
  sendJson(method: string, path: string, body: unknown, { headers, ...sending }: Sending = {}): Promise<Answer> {
    const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    return this.send(method, path, {
      ...sending,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: bytes,
    })
  }

  /** Sends a body to createPlant. */
  create(body: unknown, sending?: Sending): Promise<Answer> {
    return this.sendJson('POST', '/plants', body, sending)
  }

  /** Sends a file to importPlants, as NDJSON unless it has another type. */
  importFile(
    body: string | Buffer,
    {
      type = 'application/x-ndjson',
      query = '',
      headers,
      ...sending
    }: Sending & { type?: string; query?: string } = {},
  ): Promise<Answer> {
    const path = `/plants/import${query}`
    return this.send('POST', path, { ...sending, headers: { 'Content-Type': type, ...headers }, body })
  }

  /** Creates a token in the store. */
  async issueToken(scopes: readonly Scope[], expiresAt?: Date, part?: Part): Promise<{ secret: string; token: Token }> {
    const secret = makeSecret()
    const token = {
      id: makeTokenId(),
      name: 'a test',
      scopes,
      part,
      createdAt: new Date(),
      expiresAt,
      lastUsedAt: undefined,
      revokedAt: undefined,
    }
    await this.store.tokens.createToken(token, hashSecret(secret))
    return { secret, token }
  }

  /** Shuts the service down after the answers in progress, as at the end of the drain window. */
  stop(): Promise<void> {
    this.state.current = 'closing'
    return this.#app.close()
  }

  /** The plants in the store, read without the service. */
  plants(): Promise<StoredRow[]> {
    return this.under.plants()
  }

  #exchange(method: string, path: string, sending: Sending): Promise<Answer> {
    const { authorization = `Bearer ${SECRET}`, body, chunked = false } = sending
    const headers: Record<string, string> = { ...sending.headers }
    if (authorization !== null) headers['Authorization'] = authorization
    if (body !== undefined && !chunked) headers['Content-Length'] = String(Buffer.byteLength(body))
    return new Promise((resolve, reject) => {
      const send = certificate() === undefined ? http.request : secureRequest
      const outgoing = send({ method, path, port: this.port, host: '127.0.0.1', agent: this.agent, headers })
      outgoing.on('error', reject)
      outgoing.setTimeout(PATIENCE, () => outgoing.destroy(new Error(`${method} ${path} is not answered`)))
      outgoing.on('response', (incoming) => {
        const asked = `${method} ${path} ${JSON.stringify(sending.headers ?? {})} ${String(body ?? '').slice(0, 200)}`
        buffer(incoming).then((bytes) => resolve(answerOf(asked, incoming, bytes)), reject)
      })
      if (body !== undefined) outgoing.write(body)
      outgoing.end()
    })
  }
}

/** The number of a refusal. */
export const errorOf = (answer: Answer): number => (answer.json as { error: number }).error

export const messageOf = (answer: Answer): string => (answer.json as { message: string }).message

/** Checks that an answer is the refusal with this number, and what it says. */
export function assertRefused(answer: Answer, number: number, message: string | RegExp = /./): void {
  assert.equal(answer.status, Math.trunc(number / 100), `${answer.asked}: ${answer.body}`)
  assert.equal(errorOf(answer), number, `${answer.asked}: ${answer.body}`)
  if (typeof message === 'string') assert.equal(messageOf(answer), message, answer.asked)
  else assert.match(messageOf(answer), message, answer.asked)
}

function answerOf(asked: string, { statusCode = 0, headers }: IncomingMessage, bytes: Buffer): Answer {
  const body = bytes.toString('utf8')
  return {
    asked,
    bytes,
    status: statusCode,
    headers,
    body,
    get json() {
      return JSON.parse(body) as unknown
    },
  }
}

function keepIn(lines: string[]): (chunk: Buffer, encoding: string, done: () => void) => void {
  return (chunk, _encoding, done) => {
    lines.push(chunk.toString('utf8'))
    done()
  }
}
