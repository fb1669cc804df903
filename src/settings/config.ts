import { OperatorError } from '../base/operator-error.ts'
import { BACKUP_SCHEDULE, type BackupSchedule, scheduleFault } from './backup-schedule.ts'
import { readConfiguredToken, type TokenUse } from './configured-token.ts'
import { LIMITS, type Limits, RETIRED } from './limits.ts'
import { type Network, readNetworks } from './network.ts'
import { isPostgresAddress, type PostgresAddress, readPostgresAddress } from './postgres-address.ts'
import {
  duration,
  integer,
  longDuration,
  nonEmpty,
  offOr,
  oneOf,
  onOrOff,
  origins,
  type Setting,
  setting,
  size,
  text,
  timeout,
} from './setting.ts'

export type SqliteAddress = { readonly engine: 'sqlite'; readonly path: string; readonly isDefault: boolean }
export type StoreAddress = SqliteAddress | PostgresAddress
/** `auto` is text on a terminal, and JSON elsewhere. */
export type LogFormat = 'auto' | 'json' | 'text'
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Requests per second and token, each token allowed to save up one second's worth. */
export type RateLimit = number | undefined

/** An address to listen on. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** What an operator sets. */
export interface SettingValues extends BackupSchedule {
  readonly host: string
  readonly port: number
  /** Where metrics and health checks are served without a token; undefined: the port for clients serves them. */
  readonly metricsPort: ListenAddress | undefined
  readonly store: StoreAddress
  /** Connections to a PostgreSQL database, in total. */
  readonly storeConnections: number
  /** Milliseconds. */
  readonly storeTimeout: number
  /** Milliseconds for which the start waits for an unreachable PostgreSQL store. */
  readonly storeWait: number
  /** Milliseconds for which a SQLite store keeps its log of changes. */
  readonly changesKeep: number
  readonly token: string | undefined
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
  /** A path, `-` for standard error, or undefined for none. */
  readonly auditLog: string | undefined
  /** Whether the pages at / and /docs are served. */
  readonly page: boolean
  /** The origins whose scripts may use the service; undefined: none. */
  readonly corsOrigins: readonly string[] | undefined
  /** Proxies that the service trusts to name the address of a client. */
  readonly trustedProxies: readonly Network[]
  /** Bytes. */
  readonly bodyLimit: number
  /** Milliseconds; 0: no deadline. */
  readonly requestTimeout: number
  /** Milliseconds. */
  readonly stallTimeout: number
  /** Milliseconds. */
  readonly keepAliveTimeout: number
  /** Milliseconds. */
  readonly drainWindow: number
  readonly maxConnections: number
  readonly maxAddressConnections: number
  readonly maxSearches: number
  /** Milliseconds. */
  readonly searchTimeout: number
  readonly maxExports: number
  readonly maxImports: number
  readonly rateLimit: RateLimit
}

/** Bounds that follow from settings. */
export interface DerivedLimits {
  /** Milliseconds; 0: no deadline. */
  readonly headersTimeout: number
  readonly maxSearchesPerToken: number
  readonly maxExportsPerToken: number
  readonly maxImportsPerToken: number
  readonly maxDryRuns: number
  readonly maxDryRunsPerToken: number
  /** Of the connections to a PostgreSQL database, those that searches may use. */
  readonly storeSearchConnections: number
  /** Of the connections to a PostgreSQL database, those that exports and dry runs may use. */
  readonly storeLongConnections: number
}

export interface Config extends SettingValues, DerivedLimits, Limits {}

type Settings = { readonly [K in keyof SettingValues]-?: Setting<SettingValues[K]> }

const DEFAULT_STORE = 'sqlite:data/plants.db'

const count = (flag: string, fallback: string, help: string): Setting<number> =>
  setting(flag, 'COUNT', fallback, help, integer(1, 1e5))

/** Every setting. The flags, the environment variables, the help text and the reference page follow from it. */
export const SETTINGS: Settings = {
  host: text('host', 'ADDRESS', '127.0.0.1', 'address to listen on; 0.0.0.0 for every address of the machine'),
  port: setting('port', 'PORT', '8080', 'TCP port to listen on; 0 picks a free one', integer(0, 65535)),
  metricsPort: setting(
    'metrics-port',
    '[HOST:]PORT',
    'off',
    'TCP port of its own for /metrics and /health, where they need no token, on 127.0.0.1 unless HOST is given; the port for clients has no /metrics then; 0 picks a free one, off means none',
    offOr(listenAddress),
  ),
  trustedProxies: {
    flag: 'trusted-proxies',
    value: 'NETWORKS',
    fallback: 'none',
    help: 'proxies whose Forwarded and X-Forwarded-For headers are trusted to name the client, such as 10.0.0.0/8,::1; from all others the service ignores these headers',
    parse: (given) => (given === 'none' ? [] : readNetworks(given)),
  },
  store: {
    flag: 'store',
    value: 'URL',
    fallback: DEFAULT_STORE,
    help: 'where plants and tokens are stored: sqlite:PATH or postgres://USER@HOST:PORT/DATABASE; give a password by PGPASSWORD, as other users of the machine can read flags',
    parse: storeAddress,
  },
  storeConnections: setting('store-connections', 'COUNT', '10', 'connections to a PostgreSQL store', integer(4, 1000)),
  storeTimeout: setting(
    'store-timeout',
    'TIME',
    '10s',
    'deadline of a request on a PostgreSQL store, for connecting, statements and retries together; at least 100ms. A step of an export or a dry run has its own deadline',
    timeout,
  ),
  storeWait: setting(
    'store-wait',
    'TIME',
    '60s',
    'how long the start waits for an unreachable PostgreSQL store',
    duration,
  ),
  changesKeep: setting(
    'changes-keep',
    'TIME',
    '0s',
    'how long a SQLite store keeps changes in its log that the search index does not need any more, such as 7d; each changed plant is kept as it was',
    longDuration,
  ),
  ...BACKUP_SCHEDULE,
  token: {
    flag: 'token',
    value: 'SECRET',
    fallback: undefined,
    help: 'an additional access token with all scopes: at least 16 characters, hard to guess, and not created by "plantstore token create"; give it by the variable, as other users of the machine can read flags',
    parse: (given, _environment, use) => readConfiguredToken(given, use),
  },
  corsOrigins: setting(
    'cors-origins',
    'ORIGINS',
    'off',
    'origins whose scripts may use the service in a browser, such as https://garden.example, with commas between; or off',
    offOr(origins),
  ),
  page: {
    flag: 'page',
    value: 'SWITCH',
    fallback: 'on',
    help: 'serve the page at / for people and the one at /docs: on or off; /openapi.json is always served',
    parse: onOrOff,
  },
  rateLimit: setting('rate-limit', 'COUNT', 'off', 'requests per second and token, or off', offOr(integer(1, 1e6))),
  logLevel: {
    flag: 'log-level',
    value: 'LEVEL',
    fallback: 'info',
    help: 'what to log: debug (every request), info (start, stop and refused requests), warn, error or silent',
    parse: oneOf<LogLevel>('debug', 'info', 'warn', 'error', 'silent'),
  },
  logFormat: setting(
    'log-format',
    'FORMAT',
    'auto',
    'how log lines are written: json, text (to be read by people), or auto (text on a terminal, else json)',
    oneOf<LogFormat>('auto', 'json', 'text'),
  ),
  auditLog: setting(
    'audit-log',
    'FILE',
    '-',
    'file for a line about each change and each event of an access token; - is standard error, from the log level info on; or off',
    offOr(nonEmpty),
  ),
  maxConnections: setting(
    'max-connections',
    'COUNT',
    '10000',
    'open client connections, in total; fewer where the process may open fewer files',
    integer(1, 1e6),
  ),
  maxAddressConnections: setting(
    'max-address-connections',
    'COUNT',
    '1000',
    'open connections of one address, or one IPv6 /64 network; those of trusted proxies do not count',
    integer(1, 1e6),
  ),
  keepAliveTimeout: setting(
    'keep-alive-timeout',
    'TIME',
    '65s',
    'how long a connection may be idle before the service closes it',
    duration,
  ),
  bodyLimit: setting('body-limit', 'SIZE', '1MiB', 'maximum size of a request body', size),
  requestTimeout: setting(
    'request-timeout',
    'TIME',
    '30s',
    'deadline for a whole request to arrive; its headers have a third of it',
    duration,
  ),
  stallTimeout: setting(
    'stall-timeout',
    'TIME',
    '30s',
    'how long the client of an import may send nothing, or any client may read nothing of its answer; imports have no request timeout',
    duration,
  ),
  drainWindow: setting(
    'drain-window',
    'TIME',
    '1s',
    'how long to keep answering after the signal to stop, while a client is connected',
    duration,
  ),
  maxSearches: count('max-searches', '8', 'searches that run at once, half of them of one token; others are queued'),
  searchTimeout: setting(
    'search-timeout',
    'TIME',
    '10s',
    'deadline of a search, its time in the queue included; then it is answered 503; at least 100ms',
    timeout,
  ),
  maxExports: count('max-exports', '4', 'exports at once, half of them of one token; more are answered 503 or 429'),
  maxImports: count(
    'max-imports',
    '8',
    'imports at once, half of them of one token, and half as many dry runs; more are answered 503 or 429',
  ),
}

/** The environment variable of a flag: `PLANTSTORE_LOG_LEVEL` for `log-level`. */
export const environmentName = (flag: string): string => `PLANTSTORE_${flag.toUpperCase().replaceAll('-', '_')}`

/**
 * Reads flags, then environment, then defaults, into one frozen value.
 *
 * @param flags by camel-case name, as the command line gave them; only those that were given
 * @param use `server` for a service, `client` for every other command: PLANTSTORE_TOKEN means something else there
 * @throws OperatorError (exit code 2) that names every fault at once
 */
export function readConfig(
  flags: Readonly<Record<string, string | undefined>>,
  environment: NodeJS.ProcessEnv,
  use: TokenUse = 'server',
): Config {
  const faults = use === 'server' ? retiredIn(environment) : []
  const entries = Object.entries(SETTINGS).map(([key, setting]: [string, Setting<unknown>]) => {
    const variable = environmentName(setting.flag)
    const [name, value] =
      flags[key] !== undefined ? [`--${setting.flag}`, flags[key]] : [variable, environment[variable]]
    // Most tools set an empty variable to say "not set".
    const given = value === '' && name === variable ? undefined : value
    try {
      const text = given ?? setting.fallback
      return [key, text === undefined ? undefined : setting.parse(text, environment, use)]
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      return [key, undefined]
    }
  })
  const values = Object.fromEntries(entries) as SettingValues
  // The store is undefined where its address is wrong, a fault that is reported already.
  const schedule = values.store === undefined ? undefined : scheduleFault(values, values.store.engine)
  if (use === 'server' && schedule !== undefined) faults.push(schedule)
  if (faults.length > 0) throw new OperatorError(faults.join('\n'), { exitCode: 2 })
  return Object.freeze({ ...LIMITS, ...derivedFrom(values), ...values })
}

/** Names each variable that was a setting of an earlier version, and what replaces it. */
const retiredIn = (environment: NodeJS.ProcessEnv): string[] =>
  Object.entries(RETIRED).flatMap(([flag, instead]) => {
    const name = environmentName(flag)
    return environment[name] ? [`${name}: ${retirement(instead)}`] : []
  })

/** @param instead what replaces a setting of before */
export const retirement = (instead: string): string => `is no setting any more: ${instead}`

function derivedFrom(values: SettingValues): DerivedLimits {
  const { requestTimeout, maxSearches, maxExports, maxImports, storeConnections } = values
  const maxDryRuns = Math.ceil(maxImports / 2)
  return {
    headersTimeout: Math.ceil(requestTimeout / 3),
    maxSearchesPerToken: Math.ceil(maxSearches / 2),
    maxExportsPerToken: Math.ceil(maxExports / 2),
    maxImportsPerToken: Math.ceil(maxImports / 2),
    maxDryRuns,
    maxDryRunsPerToken: Math.ceil(maxDryRuns / 2),
    storeSearchConnections: Math.floor(storeConnections / 3),
    storeLongConnections: Math.floor(storeConnections / 3),
  }
}

/** `PORT`, `HOST:PORT` or `[IPv6]:PORT` (RFC 3986 section 3.2.2). */
function listenAddress(given: string): ListenAddress {
  const [, ipv6, name, port = given] = /^(?:\[([^[\]]+)\]|([^:[\]]+)):(.*)$/.exec(given) ?? []
  return { host: ipv6 ?? name ?? '127.0.0.1', port: integer(0, 65535)(port) }
}

function storeAddress(given: string, environment: NodeJS.ProcessEnv): StoreAddress {
  if (isPostgresAddress(given)) return readPostgresAddress(given, environment)
  // The value may hold a password, so the message leaves it out.
  if (!given.startsWith('sqlite:') || given === 'sqlite:')
    throw new Error(`is neither a store like ${DEFAULT_STORE} nor one like postgres://user@host/database`)
  return { engine: 'sqlite', path: given.slice('sqlite:'.length), isDefault: given === DEFAULT_STORE }
}

/** The address of a store without its credentials, for messages. */
export const shownStore = (store: StoreAddress): string =>
  store.engine === 'sqlite' ? `sqlite:${store.path}` : store.shown
