import { readNetworks } from '../base/network.ts'
import { OperatorError } from '../base/operator-error.ts'
import { isJwt } from '../domain/token.ts'
import { IDENTITY_PROVIDER } from './identity-provider.ts'
import { LIMITS, type Limits } from './limits.ts'
import { isPostgresAddress, type PostgresAddress, readPostgresAddress } from './postgres-address.ts'
import {
  atLeast,
  contactAddress,
  count,
  integer,
  kind,
  longDuration,
  memorySize,
  named,
  nonEmpty,
  offOr,
  oneOf,
  optional,
  origins,
  publicPart,
  publicUrl,
  readConfiguredToken,
  type Setting,
  secret,
  setting,
  TIME,
  TIMEOUT,
  type TokenUse,
  text,
  type ValuesOf,
} from './setting.ts'
import { WEBHOOKS } from './webhooks.ts'

export type SqliteAddress = { readonly engine: 'sqlite'; readonly path: string; readonly isDefault: boolean }
export type StoreAddress = SqliteAddress | PostgresAddress

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

const DEFAULT_STORE = 'sqlite:data/plants.db'

const AT_ONCE = count(1, 1e5)

/**
 * Every setting, that is all that an operator sets. The flags, the environment variables, the help text, the reference
 * page and the type Config follow from it. Times are milliseconds, sizes are bytes; undefined stands for `off`.
 */
export const SETTINGS = named({
  host: setting(text('ADDRESS'), '127.0.0.1', 'address to listen on; 0.0.0.0 for every address of the machine'),
  port: setting(kind('PORT', integer(0, 65535)), '8080', 'TCP port to listen on; 0 picks a free one'),
  /** Undefined: the port for clients serves metrics and health checks. */
  metricsPort: setting(
    kind('[HOST:]PORT', offOr(listenAddress)),
    'off',
    'TCP port of its own for /metrics and /health, where they need no token, on 127.0.0.1 unless HOST is given; the port for clients has no /metrics then; 0 picks a free one, off means none',
  ),
  /** The origin and path that clients use, without a slash at the end; undefined: it follows from the address to listen on (`publicUrlOf`). */
  publicUrl: optional(
    kind('URL', publicUrl),
    'the address that clients use, such as https://plants.example or https://example.org/garden, for links, labels and the contract; behind a proxy, its path is the one that clients use too, whether the proxy takes it off or not; by default it follows from host and port',
  ),
  /** Undefined: clients use HTTP without TLS. */
  tlsCert: optional(
    text('FILE'),
    'a certificate in PEM, with its chain behind it: clients then use HTTPS; needs --tls-key',
  ),
  tlsKey: optional(
    text('FILE'),
    'the private key of the certificate, in PEM; only the user of the service may read it',
  ),
  trustedProxies: setting(
    kind('NETWORKS', (given) => (given === 'none' ? [] : readNetworks(given))),
    'none',
    'proxies whose Forwarded and X-Forwarded-For headers are trusted to name the client, such as 10.0.0.0/8,::1; from all others the service ignores these headers',
  ),
  store: secret(
    setting(
      kind('URL', storeAddress),
      DEFAULT_STORE,
      'where plants and tokens are stored: sqlite:PATH, postgres://USER@HOST:PORT/DATABASE or, on Citus, citus://USER@HOST:PORT/DATABASE; give a password by PGPASSWORD, as other users of the machine can read flags',
    ),
  ),
  storeConnections: setting(count(4, 1000), '10', 'connections to a PostgreSQL store'),
  storeTimeout: setting(
    TIMEOUT,
    '10s',
    'deadline of a request on a PostgreSQL store, for connecting, statements and retries together; at least 100ms. A step of an export or a dry run has its own deadline',
  ),
  storeWait: setting(TIME, '60s', 'how long the start waits for an unreachable PostgreSQL store'),
  changesKeep: setting(
    kind('TIME', longDuration),
    '30d',
    'how long the store keeps its log of changes, such as 7d, for programs that follow it and for the history of each plant; 0s switches both off',
  ),
  changesKeepSize: setting(
    kind('SIZE', memorySize),
    '1GiB',
    'maximum size of the log of changes; beyond it, the oldest changes are removed, however young they are',
  ),
  backupEvery: setting(
    kind('TIME', offOr(atLeast('1m', longDuration))),
    'off',
    'how often to back up a SQLite store to the backup folder, such as 24h; at least 1m; or off',
  ),
  backupKeep: setting(
    count(1, 10_000),
    '7',
    'backups of --backup-every to keep; the oldest ones beyond are removed after each new one',
  ),
  backupFolder: optional(
    text('FOLDER'),
    'an existing folder for the backups of --backup-every, best on another disk than the store',
  ),
  backupHook: optional(
    text('FILE'),
    'an executable file that runs after each backup of --backup-every, such as to copy it to another machine: PLANTSTORE_BACKUP is the path of the backup, or PLANTSTORE_BACKUP_ERROR says why it failed',
  ),
  token: secret(
    optional(
      kind('SECRET', (given, _environment, use) => readConfiguredToken(given, use)),
      'an additional access token with all scopes: at least 16 characters, hard to guess, and not created by "plantstore token create"; give it by the variable, as other users of the machine can read flags',
    ),
  ),
  corsOrigins: setting(
    kind('ORIGINS', offOr(origins)),
    'off',
    'origins whose scripts may use the service in a browser, such as https://garden.example, with commas between; or off',
  ),
  page: setting(
    kind('SWITCH', (given) => oneOf('on', 'off')(given) === 'on'),
    'on',
    'serve the page at / for people and the one at /docs: on or off; /openapi.json is always served',
  ),
  securityContact: optional(
    kind('URL', contactAddress),
    'where people report a vulnerability of this service, such as mailto:security@garden.example; /.well-known/security.txt names it',
  ),
  mcp: setting(
    kind('SWITCH', oneOf('off', 'on', 'delete')),
    'off',
    'the Model Context Protocol at /mcp, by which agents read and change plants: off, on, or delete, with which they may also delete',
  ),
  /** A token may save up one second's worth. */
  rateLimit: setting(kind('COUNT', offOr(integer(1, 1e6))), 'off', 'requests per second and token, or off'),
  /** Undefined: every request needs a token. */
  public: setting(
    kind('TAGS', offOr(publicPart)),
    'off',
    'what everyone may read without a token: all, or up to 20 tags with commas between, where a text ending with / stands for all tags that begin so; or a JSON array of them, such as ["beds, north"]; or off',
  ),
  publicIndex: setting(
    kind('SWITCH', offOr(oneOf('on'))),
    'off',
    'whether search engines may list what --public shows: on or off',
  ),
  ...IDENTITY_PROVIDER,
  logLevel: setting(
    kind('LEVEL', oneOf('debug', 'info', 'warn', 'error', 'silent')),
    'info',
    'what to log: debug (every request), info (start, stop and refused requests), warn, error or silent',
  ),
  logFormat: setting(
    kind('FORMAT', oneOf('auto', 'json', 'text')),
    'auto',
    'how log lines are written: json, text (to be read by people), or auto (text on a terminal, else json)',
  ),
  /** A path, `-` for standard error, or undefined for none. */
  auditLog: setting(
    kind('FILE', offOr(nonEmpty)),
    '-',
    'file for a line about each change and each event of an access token; - is standard error, from the log level info on; or off',
  ),
  maxConnections: setting(
    count(1, 1e6),
    '10000',
    'open client connections, in total; fewer where the process may open fewer files',
  ),
  maxAddressConnections: setting(
    count(1, 1e6),
    '1000',
    'open connections of one address, or one IPv6 /64 network; those of trusted proxies do not count',
  ),
  keepAliveTimeout: setting(TIME, '65s', 'how long a connection may be idle before the service closes it'),
  /** 0: no deadline. */
  requestTimeout: setting(TIME, '30s', 'deadline for a whole request to arrive; its headers have a third of it'),
  stallTimeout: setting(
    TIME,
    '30s',
    'how long the client of an import may send nothing, or any client may read nothing of its answer; imports have no request timeout',
  ),
  drainWindow: setting(TIME, '1s', 'how long to keep answering after the signal to stop, while a client is connected'),
  maxSearches: setting(AT_ONCE, '8', 'searches that run at once, half of them of one token; others are queued'),
  searchTimeout: setting(
    TIMEOUT,
    '10s',
    'deadline of a search, its time in the queue included; then it is answered 503; at least 100ms',
  ),
  maxExports: setting(AT_ONCE, '4', 'exports at once, half of them of one token; more are answered 503 or 429'),
  maxImports: setting(
    AT_ONCE,
    '8',
    'imports at once, half of them of one token, and half as many dry runs; more are answered 503 or 429',
  ),
  ...WEBHOOKS,
})

export type SettingValues = ValuesOf<typeof SETTINGS>
export type DerivedLimits = Readonly<ReturnType<typeof derivedFrom>>
export type Config = SettingValues & DerivedLimits & Limits

/** The environment variable of a flag: `PLANTSTORE_LOG_LEVEL` for `log-level`. */
export const environmentName = (flag: string): string => `PLANTSTORE_${flag.toUpperCase().replaceAll('-', '_')}`

/**
 * Reads flags, then environment, then defaults, into one frozen value.
 *
 * @param flags by camel-case name, as the command line gave them; only those that were given
 * @param use `server` for a service, `client` for every other command: PLANTSTORE_TOKEN means something else there
 * @param others faults that the caller has found in the file of settings
 * @throws OperatorError (exit code 2) that names every fault at once
 */
export function readConfig(
  flags: Readonly<Record<string, string | undefined>>,
  environment: NodeJS.ProcessEnv,
  use: TokenUse = 'server',
  others: readonly string[] = [],
): Config {
  const faults = [...others]
  const texts: Record<string, string | undefined> = {}
  const entries = Object.entries(SETTINGS).map(([key, setting]: [string, Setting<unknown>]) => {
    const variable = environmentName(setting.flag)
    const [name, value] =
      flags[key] !== undefined ? [`--${setting.flag}`, flags[key]] : [variable, environment[variable]]
    // Most tools set an empty variable to say "not set".
    const given = value === '' && name === variable ? undefined : value
    texts[key] = given
    try {
      const text = given ?? setting.fallback
      return [key, text === undefined ? undefined : setting.parse(text, environment, use)]
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      return [key, undefined]
    }
  })
  const values = Object.fromEntries(entries) as SettingValues
  if (use === 'server') faults.push(...conflictsIn(texts, values))
  if (faults.length > 0) throw new OperatorError(faults.join('\n'), { exitCode: 2 })
  return Object.freeze({ ...LIMITS, ...derivedFrom(values), ...values })
}

/** Settings that mean nothing without another one. */
const NEEDS: { readonly [Key in keyof SettingValues]?: keyof SettingValues } = {
  tlsCert: 'tlsKey',
  tlsKey: 'tlsCert',
  backupEvery: 'backupFolder',
  backupHook: 'backupEvery',
  ...Object.fromEntries(Object.keys(IDENTITY_PROVIDER).map((key) => [key, 'oidcIssuer'])),
  oidcIssuer: 'oidcAudience',
  publicIndex: 'public',
}

/** @param given the texts of the settings that are set, also of wrong ones */
function conflictsIn(given: Readonly<Record<string, string | undefined>>, values: SettingValues): string[] {
  const faults = (Object.keys(SETTINGS) as (keyof SettingValues)[]).flatMap((key) => {
    const needed = NEEDS[key]
    // Most settings of the provider have a default, so their texts tell whether they are set.
    const isSet =
      key in IDENTITY_PROVIDER
        ? (given[key] ?? SETTINGS[key].fallback) !== SETTINGS[key].fallback
        : values[key] !== undefined
    if (needed === undefined || !isSet || given[needed] !== undefined) return []
    return [`--${SETTINGS[key].flag}: needs --${SETTINGS[needed].flag}`]
  })
  // The store is undefined where its address is wrong.
  if (values.backupEvery !== undefined && values.store?.engine === 'postgres') {
    faults.push('--backup-every: backs up SQLite stores only; use the tools of PostgreSQL')
  }
  if (values.oidcIssuer !== undefined && values.token !== undefined && isJwt(values.token)) {
    faults.push('--token: has two dots, like the tokens of --oidc-issuer; choose one without')
  }
  return faults
}

/** Bounds that follow from settings. */
const derivedFrom = ({ requestTimeout, maxImports }: SettingValues) => ({
  /** Milliseconds; 0: no deadline. */
  headersTimeout: Math.ceil(requestTimeout / 3),
  maxDryRuns: Math.ceil(maxImports / 2),
})

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

/**
 * Returns the address that clients use.
 *
 * @param port the port on which the service listens
 */
export const publicUrlOf = (config: Pick<Config, 'publicUrl' | 'host' | 'tlsCert'>, port: number): string =>
  config.publicUrl ?? `${config.tlsCert === undefined ? 'http' : 'https'}://${hostInUrl(config.host)}:${port}`

/** Returns the host in the form of a URL; `localhost` for a wildcard address. */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
