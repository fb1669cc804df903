import { BACKUP_SCHEDULE, type BackupSchedule, scheduleFault } from './backup-schedule.ts'
import { readConfiguredToken, type TokenUse } from './configured-token.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  LOAD_LIMITS,
  type LoadLimits,
  MEMORY_LIMITS,
  type MemoryLimits,
  WORK_LIMITS,
  type WorkLimits,
} from './limits.ts'
import { type Network, readNetworks } from './network.ts'
import { OperatorError } from './operator-error.ts'
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

export interface Config extends ConnectionLimits, LoadLimits, WorkLimits, MemoryLimits, BackupSchedule {
  readonly host: string
  readonly port: number
  /** The port that serves metrics and health checks without a token; undefined: the port for clients serves them. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  readonly store: StoreAddress
  /** Connections to a PostgreSQL database, in total. */
  readonly storeConnections: number
  /** Of these, those for searches; undefined: a third. */
  readonly storeSearchConnections: number | undefined
  /** Of these, those for exports and dry runs; undefined: a third. */
  readonly storeLongConnections: number | undefined
  readonly token: string | undefined
  readonly logLevel: LogLevel
  /** A path, `-` for standard error, or undefined for none. */
  readonly auditLog: string | undefined
  /** Whether the page at / is served. */
  readonly page: boolean
  readonly logFormat: LogFormat
  /** Whether the page at /docs is served. */
  readonly docs: boolean
  /** The origins whose scripts may use the service; undefined: none. */
  readonly corsOrigins: readonly string[] | undefined
  /** Bytes. */
  readonly bodyLimit: number
  /** Bytes of request line and headers together. */
  readonly headerLimit: number
  readonly nestingLimit: number
  /** Milliseconds. */
  readonly storeTimeout: number
  /** Milliseconds. */
  readonly storeWait: number
  /** Milliseconds for which a SQLite store keeps its log of changes. */
  readonly changesKeep: number
  readonly rateLimit: RateLimit
  /** Failed authentications per minute and address; undefined: no limit. */
  readonly authFailureLimit: number | undefined
  /** Proxies that the service trusts to name the address of a client. */
  readonly trustedProxies: readonly Network[]
}

type Settings = { readonly [K in keyof Config]-?: Setting<Config[K]> }

const DEFAULT_STORE = 'sqlite:data/plants.db'

/** Every setting. The flags, the environment variables, the help text and the reference page follow from it. */
export const SETTINGS: Settings = {
  host: text('host', 'ADDRESS', '127.0.0.1', 'address to listen on; 0.0.0.0 for every address of the machine'),
  port: setting('port', 'PORT', '8080', 'TCP port to listen on; 0 picks a free one', integer(0, 65535)),
  metricsPort: setting(
    'metrics-port',
    'PORT',
    'off',
    'TCP port of its own for /metrics and /health, where they need no token; the port for clients has no /metrics then; 0 picks a free one, off means none',
    offOr(integer(0, 65535)),
  ),
  metricsHost: text('metrics-host', 'ADDRESS', '127.0.0.1', 'address to listen on with --metrics-port'),
  store: {
    flag: 'store',
    value: 'URL',
    fallback: DEFAULT_STORE,
    help: 'where plants and tokens are stored: sqlite:PATH or postgres://USER@HOST:PORT/DATABASE; give a password by PGPASSWORD, as other users of the machine can read flags',
    parse: storeAddress,
  },
  storeConnections: setting('store-connections', 'COUNT', '10', 'connections to a PostgreSQL store', integer(4, 1000)),
  storeSearchConnections: {
    flag: 'store-search-connections',
    value: 'COUNT',
    fallback: undefined,
    help: 'connections to a PostgreSQL store that searches, lists and tags may use at once (default a third). At least two must remain besides these and those for long reads',
    parse: integer(1, 1000),
  },
  storeLongConnections: {
    flag: 'store-long-connections',
    value: 'COUNT',
    fallback: undefined,
    help: 'connections to a PostgreSQL store that exports and dry runs of imports may use at once (default a third)',
    parse: integer(1, 1000),
  },
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
  logLevel: {
    flag: 'log-level',
    value: 'LEVEL',
    fallback: 'info',
    help: 'what to log: debug (every request), info (start, stop and refused requests), warn, error or silent',
    parse: oneOf<LogLevel>('debug', 'info', 'warn', 'error', 'silent'),
  },
  auditLog: setting(
    'audit-log',
    'FILE',
    '-',
    'file for a line about each change and each event of an access token; - is standard error, from the log level info on; or off',
    offOr(nonEmpty),
  ),
  page: {
    flag: 'page',
    value: 'SWITCH',
    fallback: 'on',
    help: 'serve the page at / for people: on or off',
    parse: onOrOff,
  },
  logFormat: setting(
    'log-format',
    'FORMAT',
    'auto',
    'how log lines are written: json, text (to be read by people), or auto (text on a terminal, else json)',
    oneOf<LogFormat>('auto', 'json', 'text'),
  ),
  docs: {
    flag: 'docs',
    value: 'SWITCH',
    fallback: 'on',
    help: 'serve the page at /docs: on or off; /openapi.json is always served',
    parse: onOrOff,
  },
  corsOrigins: setting(
    'cors-origins',
    'ORIGINS',
    'off',
    'origins whose scripts may use the service in a browser, such as https://garden.example, with commas between; or off',
    offOr(origins),
  ),
  bodyLimit: setting('body-limit', 'SIZE', '1MiB', 'maximum size of a request body', size),
  headerLimit: setting('header-limit', 'SIZE', '16KiB', 'maximum size of the request line and headers together', size),
  nestingLimit: setting(
    'nesting-limit',
    'LEVELS',
    '32',
    'maximum nesting depth of arrays and objects in a body',
    integer(1, 1000),
  ),
  ...MEMORY_LIMITS,
  ...CONNECTION_LIMITS,
  ...LOAD_LIMITS,
  ...WORK_LIMITS,
  rateLimit: setting('rate-limit', 'COUNT', 'off', 'requests per second and token, or off', offOr(integer(1, 1e6))),
  authFailureLimit: setting(
    'auth-failure-limit',
    'COUNT',
    '60',
    'bad tokens per minute and address that are answered 401, or off; more are answered 429 until the minute ends',
    offOr(integer(1, 1e6)),
  ),
  trustedProxies: {
    flag: 'trusted-proxies',
    value: 'NETWORKS',
    fallback: 'none',
    help: 'proxies whose Forwarded and X-Forwarded-For headers are trusted to name the client, such as 10.0.0.0/8,::1; from all others the service ignores these headers',
    parse: (given) => (given === 'none' ? [] : readNetworks(given)),
  },
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
  const faults: string[] = []
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
  const config = Object.fromEntries(entries) as Config
  // Node.js refuses such a pair. A timeout of 0 means none.
  if (config.requestTimeout > 0 && config.headersTimeout > config.requestTimeout) {
    faults.push('--headers-timeout: must not be longer than --request-timeout; set both')
  }
  const { storeConnections, storeSearchConnections, storeLongConnections } = config
  const third = Math.floor(storeConnections / 3)
  if ((storeSearchConnections ?? third) + (storeLongConnections ?? third) > storeConnections - 2) {
    faults.push(
      '--store-connections: must exceed the sum of --store-search-connections and --store-long-connections by two',
    )
  }
  // The store is undefined where its address is wrong, a fault that is reported already.
  const schedule = config.store === undefined ? undefined : scheduleFault(config, config.store.engine)
  if (use === 'server' && schedule !== undefined) faults.push(schedule)
  if (faults.length > 0) throw new OperatorError(faults.join('\n'), { exitCode: 2 })
  return Object.freeze(config)
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
