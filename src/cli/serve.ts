import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import type { Logger } from 'pino'
import { isLoopback } from '../base/network.ts'
import { OperatorError } from '../base/operator-error.ts'
import { isBeginning, type Part } from '../domain/part.ts'
import type { TokenIssuer } from '../domain/token.ts'
import type { App } from '../http/app.ts'
import type { Agents } from '../http/resources/agents.ts'
import { type Config, type ListenAddress, shownStore } from '../settings/config.ts'
import { banner } from './banner.ts'
import { Certificate, certificateFiles } from './certificate.ts'
import { version } from './command.ts'
import { auditFile, openLog, serviceAudit } from './log.ts'
import { bytesOf, openStore } from './open-store.ts'
import { scheduledBackups, wantedBackupFolder } from './scheduled-backups.ts'
import { CLOSE_TIME, Shutdown } from './shutdown.ts'
import { onStopSignal, reloadOnSignal } from './signals.ts'
import { makeFirstToken } from './token.ts'

/** Milliseconds that open requests may still take after the server has stopped to listen. */
const ANSWERS_TIMEOUT = 5000

const CLEAR_TEXT =
  'tokens cross the network in clear text: give a certificate by --tls-cert and --tls-key, or name a proxy by --trusted-proxies'

interface ServeOptions {
  readonly notice: string | undefined
  readonly read: () => Config
  /** The environment of the process, for what it starts. */
  readonly environment: NodeJS.ProcessEnv
}

/** Runs the service until a signal stops it or its store fails. Only this module wires everything. */
export async function serve(config: Config, { notice, read, environment }: ServeOptions): Promise<void> {
  const { log, lines: logLines } = openLog(config)
  const lines = [logLines]
  const shutdown = new Shutdown(log, lines)
  if (notice !== undefined) log.warn(notice)
  if (isClearText(config)) log.warn(CLEAR_TEXT)
  if (config.public !== undefined) log.warn(publicText(config.public))
  // On a terminal, SIGHUP means that its window was closed, and ends the process.
  const reloads = !process.stdout.isTTY && !process.stderr.isTTY
  if (reloads) reloadOnSignal(config, read, log)
  try {
    // What settings name is checked before the first file is made, so that a refused start leaves none behind.
    const files = certificateFiles(config)
    const certificate = files && new Certificate(files, log)
    await mustHaveFreePorts(config)
    const backupFolder = wantedBackupFolder(config)
    const openAudit = auditFile(config.auditLog, [config.store])
    const { store, isNew, contract, buildApp, Deliverer } = await openWithModules(config, log, shutdown)
    const trail = serviceAudit(config, log, openAudit)
    lines.unshift(trail.lines)
    if (reloads) process.on('SIGHUP', () => trail.reopen())
    const backups = await scheduledBackups(config, backupFolder, { log, environment })
    if (backups !== undefined) shutdown.closeLater('the backups', () => backups.close())
    const { changes, webhooks } = store
    const onNotice = (text: string) => log.warn(text)
    const delivery = changes && new Deliverer({ changes, webhooks, config, version: version(), onNotice })
    if (delivery !== undefined) shutdown.closeLater('the webhooks', () => delivery.close())
    const app = buildApp({
      config,
      contract,
      store,
      log,
      audit: trail.audit,
      issuer: await issuerOf(config, log),
      agents: await agentsOf(config, contract.document, log),
      state: shutdown.state,
      logLines,
      auditLines: trail.lines,
      backups,
      certificate,
      pair: certificate?.pair,
      delivery,
      facts: { version: version(), engine: config.store.engine, bytes: await bytesOf(config.store) },
    })
    shutdown.closeLater('the HTTP server', () => closeApp(app))
    certificate?.follow((pair) => app.clients.useCertificate(pair))
    if (reloads) process.on('SIGHUP', () => certificate?.look())
    const port = await listen(app.clients, config, '--port')
    const metricsPort =
      app.monitors && config.metricsPort && (await listen(app.monitors, config.metricsPort, '--metrics-port'))
    // As late as possible: a start that fails between the creation and the banner would lose the secret for good.
    const firstToken = await makeFirstToken(store, config, trail.audit)
    // Before the banner, whose reader may send a signal at once.
    onStopSignal((signal) => void shutdown.run(signal, app.clients.server, config.drainWindow))
    backups?.start()
    delivery?.start()
    process.stdout.write(banner({ config, port, metricsPort, isNew, firstToken }))
    const served = { store: shownStore(config.store), isNew, configuredToken: config.token !== undefined }
    log.info({ host: config.host, port, metricsPort, ...served }, 'serving')
  } catch (error) {
    await shutdown.close()
    shutdown.exitWithoutReader()
    throw error
  }
}

/**
 * Checks the ports of the service, at the same time: a start that cannot listen on both must not create or change a
 * store.
 */
async function mustHaveFreePorts({ host, port, metricsPort }: Config): Promise<void> {
  await using probes = new AsyncDisposableStack()
  const probe = (address: ListenAddress, flag: string) => {
    const server = probes.use(createServer())
    return listen({ server, listen: (at) => once(server.listen(at), 'listening') }, address, flag)
  }
  await probe({ host, port }, '--port')
  if (metricsPort !== undefined) await probe(metricsPort, '--metrics-port')
}

/** Returns the port, which the system may have chosen. */
async function listen(
  at: { readonly server: Server; listen(address: ListenAddress): Promise<unknown> },
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

/** Opens the store in its thread while this thread loads the modules of HTTP, which takes as long. */
async function openWithModules(config: Config, log: Logger, shutdown: Shutdown) {
  let isNew = false
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
  const [{ buildApp }, { readContract }, { Deliverer }] = await Promise.all([
    import('../http/app.ts'),
    import('../http/request/operations.ts'),
    import('../webhooks/deliverer.ts'),
  ])
  const contract = readContract()
  const store = await opening
  shutdown.closeLater('the store', () => store.close(CLOSE_TIME))
  return { store, isNew, contract, buildApp, Deliverer }
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

/** The protocol of agents. Its library, which takes 0.3 s, is loaded only where it is on. */
async function agentsOf({ mcp }: Config, contract: object, log: Logger): Promise<Agents | undefined> {
  if (mcp === 'off') return undefined
  const { agentsEndpoint } = await import('../mcp/endpoint.ts')
  const onFault = (err: Error) => log.debug({ err }, 'a message of an agent was refused')
  return agentsEndpoint(version(), contract, mcp === 'delete', onFault)
}

/** Whether other machines reach the service without TLS, neither its own nor that of a proxy. */
const isClearText = ({ host, tlsCert, trustedProxies }: Config): boolean =>
  !isLoopback(host) && tlsCert === undefined && trustedProxies.length === 0

const publicText = (view: Part | 'all'): string =>
  `everyone who reaches this service may read ${view === 'all' ? 'all plants' : `the plants with the tags ${quotedTags(view)}`} without a token (--public)`

/** A beginning of tags has an ellipsis. */
const quotedTags = (part: Part): string =>
  part.map((text) => JSON.stringify(isBeginning(text) ? `${text}…` : text)).join(', ')

async function closeApp(app: App): Promise<void> {
  const force = setTimeout(() => {
    app.clients.server.closeAllConnections()
    app.monitors?.server.closeAllConnections()
  }, ANSWERS_TIMEOUT)
  await app.close()
  clearTimeout(force)
}
