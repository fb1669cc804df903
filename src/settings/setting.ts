import type { Part } from '../domain/part.ts'
import { PART_RULE, partIn, TOKEN_PREFIX } from '../domain/token.ts'

/** The use of a token. `client`: sent to a service; `server`: accepted by a service, with all scopes. */
export type TokenUse = 'client' | 'server'

/** `--log-level`, `PLANTSTORE_LOG_LEVEL` and `Config.logLevel` are one name in three spellings. */
export interface Setting<T> {
  readonly flag: string
  /** The name of the value in the help. */
  readonly value: string
  readonly fallback: string | undefined
  readonly help: string
  /** Whether its value may be or hold a secret. A variable `…_FILE` can then name a file with the value. */
  readonly isSecret?: true
  /**
   * @param environment completes a value, such as by the password of a database
   * @param use the use of the token
   */
  parse(text: string, environment: NodeJS.ProcessEnv, use: TokenUse): T
}

type Unnamed<T> = Omit<Setting<T>, 'flag'>

/** Gives each setting its flag. */
export const named = <Settings extends Readonly<Record<string, Unnamed<unknown>>>>(settings: Settings) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, each]) => [
      name,
      { ...each, flag: name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) },
    ]),
  ) as { readonly [Name in keyof Settings]: Settings[Name] & Pick<Setting<unknown>, 'flag'> }

export type ValuesOf<Settings extends Readonly<Record<string, Unnamed<unknown>>>> = {
  readonly [Name in keyof Settings]: ReturnType<Settings[Name]['parse']>
}

/** A kind of value: its name in the help, and how to read it. */
type Kind<T> = Pick<Setting<T>, 'value' | 'parse'>

/** @param parse throws an Error that says what the text must be */
export const kind = <T>(value: string, parse: Setting<T>['parse']): Kind<T> => ({ value, parse })

export const setting = <T>(each: Kind<T>, fallback: string, help: string): Unnamed<T> => ({ ...each, fallback, help })

export const optional = <T>(each: Kind<T>, help: string): Unnamed<T | undefined> => ({
  ...each,
  fallback: undefined,
  help,
})

export const secret = <T>(each: Unnamed<T>): Unnamed<T> => ({ ...each, isSecret: true })

export function nonEmpty(given: string): string {
  if (given === '') throw new Error('must not be empty')
  return given
}

export function integer(min: number, max: number): (text: string) => number {
  return (given) => {
    const parsed = Number(given)
    if (!/^\d+$/.test(given) || parsed < min || parsed > max) {
      throw new Error(`"${given}" is not a whole number from ${min} to ${max}`)
    }
    return parsed
  }
}

/** Accepts `off`, which means undefined, besides the texts of `parse`. */
export function offOr<T>(parse: (text: string) => T): (text: string) => T | undefined {
  return (given) => (given === 'off' ? undefined : parse(given))
}

/** Reads a whole number with a unit. @param like what the message says that it must be */
const quantity =
  (units: Readonly<Record<string, number>>, min: number, max: number, like: string) =>
  (given: string): number => {
    const [, digits, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(given) ?? []
    const parsed = Number(digits) * (units[unit] ?? Number.NaN)
    if (parsed >= min && parsed <= max) return parsed
    throw new Error(`"${given}" is not a ${like}`)
  }

/** Milliseconds. */
export const duration = quantity({ ms: 1, s: 1000, m: 60_000 }, 0, 3_600_000, 'time like 500ms, 30s or 5m, up to 60m')
/** Milliseconds. */
export const longDuration = quantity(
  { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 },
  0,
  3650 * 86_400_000,
  'time like 90s, 12h or 7d, up to 3650d',
)
/** Bytes. */
export const memorySize = quantity(
  { MiB: 2 ** 20, GiB: 2 ** 30 },
  2 ** 20,
  2 ** 40,
  'size like 512MiB or 4GiB, from 1MiB to 1024GiB',
)

export const text = (value: string): Kind<string> => kind(value, nonEmpty)
export const count = (min: number, max: number): Kind<number> => kind('COUNT', integer(min, max))
export const TIME = kind('TIME', duration)
export const LONG_TIME = kind('TIME', longDuration)

/** Origins, separated by commas. Requires the spelling of browsers, so that origins compare as strings. */
export function origins(given: string): readonly string[] {
  return given.split(',').map((part) => {
    const origin = part.trim()
    const url = URL.canParse(origin) ? new URL(origin) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.origin !== origin)
      throw new Error(`"${origin}" is not an origin like https://garden.example`)
    return origin
  })
}

export function oneOf<T extends string>(...values: readonly T[]): (text: string) => T {
  return (given) => {
    const value = values.find((each) => each === given)
    if (value === undefined) throw new Error(`"${given}" is not one of ${values.join(', ')}`)
    return value
  }
}

export const atLeast =
  (min: string, parse: (text: string) => number) =>
  (given: string): number => {
    const parsed = parse(given)
    if (parsed < parse(min)) throw new Error(`"${given}" is less than ${min}`)
    return parsed
  }

/** PostgreSQL takes 0 for no limit. */
export const TIMEOUT = kind('TIME', atLeast('100ms', duration))

/** The first parts of the service's own paths, which a test compares with the contract. */
const OWN_PARTS =
  'plants changes actions tags ids tokens webhooks health metrics mcp page docs text-ids openapi.json llms.txt favicon.ico .well-known'

/**
 * Reads the address that clients use, without a slash at its end. Proxies and clients write other paths in several ways,
 * so that they would not compare as texts.
 */
export function publicUrl(given: string): string {
  const url = URL.parse(given)
  const [, path] = /^https?:\/\/[^/\\?#@]+((?:\/[\w.~-]+)*)\/?$/i.exec(given) ?? []
  // The parser takes `.` and `..` off.
  if (url === null || path === undefined || url.pathname.replace(/\/$/, '') !== path) {
    throw new Error(
      'must be an address like https://plants.example or https://example.org/garden: without user, query and fragment, and the parts of its path have only letters, digits and -._~, and are neither empty nor . or ..',
    )
  }
  const [, first = ''] = path.split('/')
  if (OWN_PARTS.split(' ').includes(first)) {
    // A request with the path and one without mean the same.
    throw new Error(`the service has paths of its own below /${first}, so its path must begin otherwise`)
  }
  return url.origin + path
}

/** @throws Error that says what the tags must be */
export function publicPart(given: string): Part | 'all' {
  if (given === 'all') return given
  const part = partIn(given.startsWith('[') ? jsonIn(given) : given.split(',').map((tag) => tag.trim()))
  if (part === undefined) throw new Error(`takes ${PART_RULE}, with commas between or as a JSON array; or all, or off`)
  return part
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads an address for reports of vulnerabilities (RFC 9116 section 2.5.3). */
export function contactAddress(given: string): string {
  const url = URL.parse(given)
  if (url === null || !/^(?:https|mailto|tel):$/.test(url.protocol)) {
    throw new Error('must be an address like mailto:security@garden.example or https://garden.example/security')
  }
  return url.href
}

const MIN_LENGTH = 16
const MIN_DISTINCT = 8

/**
 * Reads the token of the configuration. The characters are those that a bearer token may have (RFC 6750 section 2.1).
 *
 * @throws Error with a message that never holds the token
 */
export function readConfiguredToken(given: string, use: TokenUse): string {
  if (!/^[A-Za-z0-9._~+/-]+=*$/.test(given))
    throw new Error('may hold only letters, digits and -._~+/ with = at its end')
  if (use === 'client') return given
  if (given.startsWith(TOKEN_PREFIX)) throw new Error(CLIENT_TOKEN_FAULT)
  if (given.length < MIN_LENGTH) throw new Error(`must have at least ${MIN_LENGTH} characters`)
  if (isWeak(given)) throw new Error(WEAK_TOKEN_FAULT)
  return given
}

const CLIENT_TOKEN_FAULT = `begins with ${TOKEN_PREFIX}, like the tokens of "plantstore token create". Such a token works without this setting and would get all scopes here. Leave it out of the environment of serve, or set a secret of your own`
const WEAK_TOKEN_FAULT = `is easy to guess: it needs ${MIN_DISTINCT} different characters, in no pattern; "openssl rand -hex 32" creates a good one`

/** Whether a text has few different characters, repeats one piece, or mostly counts up or down (`3456`, `dcba`). */
function isWeak(text: string): boolean {
  if (new Set(text).size < MIN_DISTINCT) return true
  // A text that repeats a piece, such as `abab`, occurs in its double before the second copy begins.
  if (`${text}${text}`.indexOf(text, 1) < text.length) return true
  const codes = Array.from(text, (character) => character.charCodeAt(0))
  const steps = codes.slice(1).filter((code, i) => Math.abs(code - (codes[i] ?? 0)) <= 1)
  return steps.length * 2 > codes.length
}
