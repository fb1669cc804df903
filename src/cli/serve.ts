import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { isLoopback } from '../base/network.ts'
import { OperatorError } from '../base/operator-error.ts'
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
}

/**
 * Runs the service until a signal stops it or its store fails. Only this module wires everything.
 *
 * @throws OperatorError when the service can't start
 */
export async function serve(config: Config, { notice, read }: ServeOptions): Promise<void> {
  const { log, lines: logLines } = openLog(config)
  const trail = serviceAudit(config, log)
  const allLines = [trail.lines, logLines]
  const state: ServiceState = { current: 'serving' }
  const opened = new AsyncDisposableStack()
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
    await mustHaveFreePort(clientsAddress(config))
    if (config.metricsPort !== undefined) await mustHaveFreePort(monitorsAddress(config.metricsPort))
    const backupFolder = wantedBackupFolder(config)
    const opening = openStore(config.store, {
      serving: true,
      create: true,
      maxWaiting: config.maxWaiting,
      maxDelay: config.maxDelay,
      connections: config.storeConnections,
      timeout: config.storeTimeout,
      wait: config.storeWait,
      changesKeep: config.changesKeep,
      changesKeepSize: config.changesKeepSize,
      onFatal: (error) => exitOnFatal(error, log, allLines, state),
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
      import('../http/operations.ts'),
      import('../webhooks/deliverer.ts'),
    ])
    const contract = readContract()
    const store = await opening
    const bytes = await bytesOf(config.store)
    opened.defer(() => closed('the store', store.close(), log))
    const backups = await scheduledBackups(config, backupFolder, log)
    if (backups !== undefined) opened.defer(() => closed('the backups', backups.close(), log))
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
    if (delivery !== undefined) opened.defer(() => closed('the webhooks', delivery.close(), log))
    const app = buildApp({
      config,
      contract,
      store,
      log,
      audit: trail.audit,
      issuer: await issuerOf(config, log),
      state,
      writes: store.writes,
      logLines,
      auditLines: trail.lines,
      indexBehind: () => store.indexBehind,
      pool: store.pool,
      backups,
      certificate,
      pair: certificate?.pair,
      delivery,
      facts: { version: version(), engine: config.store.engine, bytes },
      shards: 'shardState' in store ? () => store.shardState : undefined,
    })
    opened.defer(() => closed('the HTTP server', closeApp(app), log))
    certificate?.follow((pair) => app.useCertificate(pair))
    if (reloads) process.on('SIGHUP', () => certificate?.look())
    const port = await listen(app, clientsAddress(config))
    const metricsPort =
      app.monitors && config.metricsPort && (await listen(app.monitors, monitorsAddress(config.metricsPort)))
    // As late as possible: a start that fails between the creation and the banner would lose the secret for good.
    const firstToken = await makeFirstToken(store, config, trail.audit)
    // Before the banner, whose reader may send a signal at once.
    onStopSignal((signal) => void stop(signal, app.server, config, log, allLines, state, opened))
    backups?.start()
    delivery?.start()
    process.stdout.write(banner({ config, port, metricsPort, isNew, firstToken }))
    const configuredToken = config.token !== undefined
    log.info(
      { host: config.host, port, metricsPort, store: shownStore(config.store), isNew, configuredToken },
      'serving',
    )
  } catch (error) {
    await opened.disposeAsync()
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
async function mustHaveFreePort(address: Address): Promise<void> {
  const { host, port } = address
  const probe = createServer()
  try {
    await once(probe.listen({ host, port }), 'listening')
  } catch (error) {
    throw listenError(error, address)
  }
  await once(probe.close(), 'close')
}

async function listen(at: Pick<App, 'listen' | 'server'>, address: Address): Promise<number> {
  const { host, port } = address
  try {
    await at.listen({ host, port })
  } catch (error) {
    throw listenError(error, address)
  }
  return (at.server.address() as AddressInfo).port
}

interface Address extends ListenAddress {
  /** The flag that chooses the port. */
  readonly flag: string
}

const clientsAddress = ({ host, port }: Config): Address => ({ host, port, flag: '--port' })

const monitorsAddress = (address: ListenAddress): Address => ({ ...address, flag: '--metrics-port' })

function listenError(error: unknown, { host, port, flag }: Address): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  const inUse = `the port is in use; ${flag} chooses another one`
  const why = { EADDRINUSE: inUse, EACCES: 'this user may not use the port' }[code] ?? code
  return new OperatorError(`can't listen on ${host} port ${port}: ${why}`, { cause: error })
}

/**
 * Stops the service without a failed request. During the drain window it still listens, but reports that it is not
 * ready, and closes each connection after its answer: load balancers and clients then use other instances. After the
 * window it stops to listen, and closes the store.
 */
async function stop(
  signal: NodeJS.Signals,
  server: Server,
  config: Config,
  log: Logger,
  lines: readonly LineWriter[],
  state: ServiceState,
  opened: AsyncDisposableStack,
): Promise<void> {
  log.info({ signal }, 'stopping')
  state.current = 'draining'
  if (await hasConnections(server)) await sleep(config.drainWindow)
  state.current = 'closing'
  await opened.disposeAsync()
  log.info('stopped')
  await flushed(lines)
  process.exit()
}

/** Logs the failure of a close and never rejects, so that the other closes follow. */
async function closed(what: string, closing: Promise<void>, log: Logger): Promise<void> {
  try {
    await closing
  } catch (error) {
    log.error({ err: error }, `closing ${what} failed`)
    process.exitCode = 1
  }
}

/** A service without connections skips the drain window. */
async function hasConnections(server: Server): Promise<boolean> {
  return (await promisify(server.getConnections).call(server)) > 0
}

async function closeApp(app: App): Promise<void> {
  const force = setTimeout(() => {
    app.server.closeAllConnections()
    app.monitors?.server.closeAllConnections()
  }, ANSWERS_TIMEOUT)
  await app.close()
  clearTimeout(force)
}

/**
 * Called when the store can't continue. Waiting requests get 503; then the process exits, and its supervisor restarts
 * it.
 */
function exitOnFatal(error: Error, log: Logger, lines: readonly LineWriter[], state: ServiceState): void {
  log.fatal({ err: error }, 'the store failed; the process exits, and the next start recovers every commit')
  state.current = 'closing'
  setTimeout(() => flushed(lines).finally(() => process.exit(1)), 200)
}

/** Writes the lines of one after the other: a fault of the audit log is a line of the log. */
async function flushed(lines: readonly LineWriter[]): Promise<void> {
  const inTurn = async () => {
    for (const each of lines) await each.flush()
  }
  await Promise.race([inTurn(), sleep(LOG_TIMEOUT)])
}
