import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { isLoopback } from '../base/network.ts'
import { OperatorError } from '../base/operator-error.ts'
import { NotEnded } from '../domain/errors.ts'
import type { TokenIssuer } from '../domain/token.ts'
import type { ServiceState } from '../http/answer/responder.ts'
import type { App } from '../http/app.ts'
import { type Config, type ListenAddress, shownStore } from '../settings/config.ts'
import { banner } from './banner.ts'
import { Certificate, certificateFiles } from './certificate.ts'
import { version } from './command.ts'
import { type LineWriter, openLog, serviceAudit } from './log.ts'
import { bytesOf, openStore } from './open-store.ts'
import { scheduledBackups, wantedBackupFolder } from './scheduled-backups.ts'
import { onStopSignal, reloadOnSignal } from './signals.ts'
import { makeFirstToken } from './token.ts'

/** Milliseconds that open requests may still take after the server has stopped to listen. */
const ANSWERS_TIMEOUT = 5000
/** Milliseconds for which the end of the process waits for the reader of the log. */
const LOG_TIMEOUT = 1000

const CLEAR_TEXT =
  'tokens cross the network in clear text: give a certificate by --tls-cert and --tls-key, or name a proxy by --trusted-proxies'

interface ServeOptions {
  /** A warning about the configuration for the operator. */
  readonly notice: string | undefined
  /** Reads the configuration again. */
  readonly read: () => Config
  /** The environment of the process, for what it starts. */
  readonly environment: NodeJS.ProcessEnv
}

/** Runs the service until a signal stops it or its store fails. Only this module wires everything. */
export async function serve(config: Config, { notice, read, environment }: ServeOptions): Promise<void> {
  const { log, lines: logLines } = openLog(config)
  const trail = serviceAudit(config, log)
  const shutdown = new Shutdown(log, [trail.lines, logLines])
  let isNew = false
  if (notice !== undefined) log.warn(notice)
  if (isClearText(config)) log.warn(CLEAR_TEXT)
  // On a terminal, SIGHUP means that its window was closed, and ends the process.
  const reloads = !process.stdout.isTTY && !process.stderr.isTTY
  if (reloads) {
    reloadOnSignal(config, read, log)
    process.on('SIGHUP', () => trail.reopen())
  }
  try {
    const files = certificateFiles(config)
    const certificate = files && new Certificate(files, log)
    await mustHaveFreePort(config, '--port')
    if (config.metricsPort !== undefined) await mustHaveFreePort(config.metricsPort, '--metrics-port')
    const backupFolder = wantedBackupFolder(config)
    const opening = openStore(config.store, {
      serving: true,
      create: true,
      maxWaiting: config.maxWaiting,
      maxDelay: config.maxDelay,
      connections: config.storeConnections,
      timeout: config.storeTimeout,
      retryTime: config.storeWait,
      changesKeep: config.changesKeep,
      changesKeepSize: config.changesKeepSize,
      onFatal: (error) => shutdown.exitOnFatal(error),
      onMade: () => {
        isNew = true
      },
      onNotice: (text) => log.warn(text),
    })
    // The await below throws an earlier rejection; without a listener, Node.js would end the process first.
    opening.catch(() => {})
    // The store opens in its thread while this thread loads the modules of HTTP, which takes as long.
    const [{ buildApp }, { readContract }, { Deliverer }] = await Promise.all([
      import('../http/app.ts'),
      import('../http/request/operations.ts'),
      import('../webhooks/deliverer.ts'),
    ])
    const contract = readContract()
    const store = await opening
    const bytes = await bytesOf(config.store)
    shutdown.closeLater('the store', () => store.close())
    const backups = await scheduledBackups(config, backupFolder, { log, environment })
    if (backups !== undefined) shutdown.closeLater('the backups', () => backups.close())
    const { changes, webhooks } = store
    const delivery =
      changes &&
      new Deliverer({
        changes,
        webhooks,
        allow: config.webhookAllow,
        giveUp: config.webhookGiveUp,
        hasConfiguredToken: config.token !== undefined,
        version: version(),
        onNotice: (text) => log.warn(text),
      })
    if (delivery !== undefined) shutdown.closeLater('the webhooks', () => delivery.close())
    const app = buildApp({
      config,
      contract,
      store,
      log,
      audit: trail.audit,
      issuer: await issuerOf(config, log),
      state: shutdown.state,
      logLines,
      auditLines: trail.lines,
      backups,
      certificate,
      pair: certificate?.pair,
      delivery,
      facts: { version: version(), engine: config.store.engine, bytes },
    })
    shutdown.closeLater('the HTTP server', () => closeApp(app))
    certificate?.follow((pair) => app.useCertificate(pair))
    if (reloads) process.on('SIGHUP', () => certificate?.look())
    const port = await listen(app, config, '--port')
    const metricsPort =
      app.monitors && config.metricsPort && (await listen(app.monitors, config.metricsPort, '--metrics-port'))
    // As late as possible: a start that fails between the creation and the banner would lose the secret for good.
    const firstToken = await makeFirstToken(store, config, trail.audit)
    // Before the banner, whose reader may send a signal at once.
    onStopSignal((signal) => void shutdown.run(signal, app.server, config.drainWindow))
    backups?.start()
    delivery?.start()
    process.stdout.write(banner({ config, port, metricsPort, isNew, firstToken }))
    const configuredToken = config.token !== undefined
    log.info(
      { host: config.host, port, metricsPort, store: shownStore(config.store), isNew, configuredToken },
      'serving',
    )
  } catch (error) {
    await shutdown.close()
    // A log without a reader would keep the process alive.
    setTimeout(() => process.exit(), LOG_TIMEOUT).unref()
    throw error
  }
}

/** The verifier of the identity provider's tokens. Its library is loaded only where one is named. */
async function issuerOf(config: Config, log: Logger): Promise<TokenIssuer | undefined> {
  const { oidcIssuer } = config
  if (oidcIssuer === undefined) return undefined
  const { JwtIssuer } = await import('../oidc/jwt-issuer.ts')
  const onOutage = (error: unknown) =>
    log.warn({ err: error, issuer: oidcIssuer }, 'the identity provider gives no keys; known ones are used for a day')
  return new JwtIssuer({ ...config, oidcIssuer, onOutage })
}

/** Whether other machines reach the service without TLS, neither its own nor that of a proxy. */
const isClearText = ({ host, tlsCert, trustedProxies }: Config): boolean =>
  !isLoopback(host) && tlsCert === undefined && trustedProxies.length === 0

/** Checks the port before the store opens: a start without a free port must not create or change a store. */
async function mustHaveFreePort({ host, port }: ListenAddress, flag: string): Promise<void> {
  const probe = createServer()
  try {
    await once(probe.listen({ host, port }), 'listening')
  } catch (error) {
    throw listenError(error, { host, port }, flag)
  }
  await once(probe.close(), 'close')
}

async function listen(
  at: Pick<App, 'listen' | 'server'>,
  { host, port }: ListenAddress,
  flag: string,
): Promise<number> {
  try {
    await at.listen({ host, port })
  } catch (error) {
    throw listenError(error, { host, port }, flag)
  }
  return (at.server.address() as AddressInfo).port
}

function listenError(error: unknown, { host, port }: ListenAddress, flag: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  const inUse = `the port is in use; ${flag} chooses another one`
  const why = { EADDRINUSE: inUse, EACCES: 'this user may not use the port' }[code] ?? code
  return new OperatorError(`can't listen on ${host} port ${port}: ${why}`, { cause: error })
}

async function closeApp(app: App): Promise<void> {
  const force = setTimeout(() => {
    app.server.closeAllConnections()
    app.monitors?.server.closeAllConnections()
  }, ANSWERS_TIMEOUT)
  await app.close()
  clearTimeout(force)
}

/** The end of the service. */
class Shutdown {
  readonly state: ServiceState = { current: 'serving' }
  readonly #log: Logger
  readonly #lines: readonly LineWriter[]
  readonly #opened = new AsyncDisposableStack()
  #mustKill = false

  /** @param lines in the order in which they are written at last: a fault of the audit log is a line of the log */
  constructor(log: Logger, lines: readonly LineWriter[]) {
    this.#log = log
    this.#lines = lines
  }

  /** Has `close` close a part of the service, before the parts of earlier calls. Its failure stops none of them. */
  closeLater(what: string, close: () => Promise<void>): void {
    this.#opened.defer(async () => {
      try {
        await close()
      } catch (error) {
        this.#log.error({ err: error }, `closing ${what} failed`)
        process.exitCode = 1
        this.#mustKill ||= error instanceof NotEnded
      }
    })
  }

  close(): Promise<void> {
    return this.#opened.disposeAsync()
  }

  /**
   * Stops the service without a failed request. During the drain window it still listens, but reports that it is not
   * ready, and closes each connection after its answer: load balancers and clients then use other instances. After the
   * window, which a service without connections skips, it stops to listen, and closes the store.
   */
  async run(signal: NodeJS.Signals, server: Server, drainWindow: number): Promise<void> {
    this.#log.info({ signal }, 'stopping')
    this.state.current = 'draining'
    if ((await promisify(server.getConnections).call(server)) > 0) await sleep(drainWindow)
    this.state.current = 'closing'
    await this.close()
    this.#log.info('stopped')
    await this.#flush()
    if (this.#mustKill) process.kill(process.pid, 'SIGKILL')
    process.exit()
  }

  /** Ends a service whose store can't continue. Waiting requests get 503, and a supervisor restarts the process. */
  exitOnFatal(error: Error): void {
    this.#log.fatal({ err: error }, 'the store failed; the process exits, and the next start recovers every commit')
    this.state.current = 'closing'
    setTimeout(() => this.#flush().finally(() => process.exit(1)), 200)
  }

  async #flush(): Promise<void> {
    const late = sleep(LOG_TIMEOUT)
    for (const each of this.#lines) await Promise.race([each.flush(), late])
  }
}
