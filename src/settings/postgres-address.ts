import { userInfo } from 'node:os'

export interface PostgresTls {
  /** `none`: no check. `authority`: a known authority has signed it. `full`: it also names the host. */
  readonly check: 'none' | 'authority' | 'full'
  /** The path of a PEM file; undefined: the authorities that Node.js knows. */
  readonly authorities: string | undefined
  /** The paths of PEM files. */
  readonly certificate: string | undefined
  readonly key: string | undefined
}

export interface PostgresAddress {
  readonly engine: 'postgres'
  /** Whether the plants are distributed over several servers: `citus://` in place of `postgres://`. */
  readonly isDistributed: boolean
  /** The store tries them in turn until one takes writes. A host that begins with a slash is a Unix socket's folder. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly database: string
  readonly user: string
  /** A function, so that no log and no message shows the password by accident. */
  readonly password: () => string | undefined
  readonly tls: PostgresTls | undefined
  readonly applicationName: string
  /** Settings of the session, as `-c name=value`. */
  readonly options: string | undefined
  /** Milliseconds. */
  readonly connectTimeout: number
  /** Hosts and database, for people to read. */
  readonly shown: string
}

/** The parameters of the query, each with the environment variable of its default. */
const VARIABLES = {
  host: 'PGHOST',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  application_name: 'PGAPPNAME',
  options: 'PGOPTIONS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
} as const

type Parameter = keyof typeof VARIABLES
type Parameters = Partial<Record<Parameter, string>>

/** The value of sslrootcert that selects the system's authorities instead of a file. */
const SYSTEM = 'system'
/** In seconds. */
const CONNECT_TIMEOUT = '5'
const FORM = /^(postgres|postgresql|citus):\/\/(?:([^/?]*)@)?([^@/?]*)(?:\/([^?]*))?(?:\?(.*))?$/

/** The scheme of the address of a store that Citus distributes. */
export const DISTRIBUTED = 'citus'

export const isSocketFolder = (host: string): boolean => host.startsWith('/')

export const isThisMachine = (host: string): boolean =>
  isSocketFolder(host) || /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)

export const isPostgresAddress = (text: string): boolean => /^(?:postgres|postgresql|citus):/.test(text)

/**
 * Reads `postgres://user:password@host:port,host:port/database?parameter=value`, or the same with `citus`. Missing parts come from the variables
 * that every PostgreSQL client knows (https://www.postgresql.org/docs/current/libpq-envars.html).
 *
 * @throws Error with a message that never holds the address, which may hold a password
 */
export function readPostgresAddress(text: string, environment: NodeJS.ProcessEnv): PostgresAddress {
  const [, scheme, userInfoText, authority, path, search] = FORM.exec(text) ?? []
  if (authority === undefined) throw new Error('is not an address like postgres://user@host:5432/database')
  const [user, password] = cut(userInfoText ?? '', ':').map(decoded)
  const [hosts, ports] = hostsIn(authority)
  const given: Parameters = {
    ...present(Object.fromEntries(Object.entries(VARIABLES).map(([name, variable]) => [name, environment[variable]]))),
    ...present({ user, password, host: hosts, port: ports, dbname: decoded(path ?? '') }),
    ...searchParameters(search ?? ''),
  }
  const name = given.user ?? userInfo().username
  const database = given.dbname ?? name
  const all = pairHosts(given.host ?? 'localhost', given.port ?? '5432')
  mustBeOneOf('target_session_attrs', given.target_session_attrs ?? 'read-write', ['read-write', 'primary'])
  const isDistributed = scheme === DISTRIBUTED
  const place = `${all.map(({ host, port }) => `${encodeURI(host)}:${port}`).join(',')}/${encodeURI(database)}`
  return {
    engine: 'postgres',
    isDistributed,
    hosts: all,
    database,
    user: name,
    password: () => given.password,
    tls: tlsOf(given),
    applicationName: given.application_name ?? 'plantstore',
    options: given.options,
    connectTimeout: wholeNumber('connect_timeout', given.connect_timeout ?? CONNECT_TIMEOUT, 1, 3600) * 1000,
    shown: `${isDistributed ? DISTRIBUTED : 'postgres'}://${place}`,
  }
}

function hostsIn(authority: string): [string, string] {
  const parts = authority.split(',').map((each) => {
    const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(each) ?? []
    if (host === '' && each !== '') throw new Error('names an invalid host')
    return [decoded(host.replace(/^\[|\]$/g, '')), port] as const
  })
  const ports = parts.map(([, port]) => port)
  return [parts.map(([host]) => host).join(','), ports.some((port) => port !== '') ? ports.join(',') : '']
}

/** A single port applies to all hosts. */
function pairHosts(hosts: string, ports: string): { host: string; port: number }[] {
  const list = ports.split(',').map((port) => wholeNumber('port', port === '' ? '5432' : port, 1, 65535))
  const names = hosts.split(',')
  if (list.length > 1 && list.length !== names.length) throw new Error('has a different number of ports than of hosts')
  return names.map((host, i) => ({ host: host === '' ? 'localhost' : host, port: list[i] ?? list[0] ?? 5432 }))
}

function tlsOf({ sslmode, sslrootcert, sslcert, sslkey }: Parameters): PostgresTls | undefined {
  // As in PostgreSQL's own clients: public authorities sign for anyone, so the certificate must also name the host.
  const isSystem = sslrootcert === SYSTEM
  const mode = sslmode ?? (isSystem ? 'verify-full' : 'disable')
  // `allow` and `prefer` fall back to no TLS when the other end offers none, so they protect from no attacker.
  mustBeOneOf('sslmode', mode, isSystem ? ['verify-full'] : ['disable', 'require', 'verify-ca', 'verify-full'])
  if (mode === 'disable') return undefined
  if ((sslcert === undefined) !== (sslkey === undefined)) throw new Error('has only one of sslcert and sslkey')
  const authorities = isSystem ? undefined : sslrootcert
  // As in PostgreSQL's own clients: a file of authorities turns on the check of the certificate.
  const isChecked = mode === 'verify-ca' || authorities !== undefined
  const check = mode === 'verify-full' ? 'full' : isChecked ? 'authority' : 'none'
  return { check, authorities, certificate: sslcert, key: sslkey }
}

function searchParameters(search: string): Parameters {
  const found: Record<string, string> = {}
  for (const pair of search === '' ? [] : search.split('&')) {
    const [name = '', value = ''] = cut(pair, '=').map(decoded)
    if (!Object.hasOwn(VARIABLES, name)) {
      throw new Error(`has an unknown parameter; known are ${Object.keys(VARIABLES).join(', ')}`)
    }
    found[name] = value
  }
  return found
}

/** An empty value counts as absent. */
function present(parameters: { readonly [K in Parameter]?: string | undefined }): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== ''))
}

function cut(text: string, separator: string): string[] {
  const at = text.indexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('is not valid percent-encoding; write % as %25')
  }
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new Error(`has a ${name} that is not a whole number from ${min} to ${max}`)
}

function mustBeOneOf(name: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw new Error(`has a ${name} that is none of ${known.join(', ')}`)
}
