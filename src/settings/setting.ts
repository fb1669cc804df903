import { TOKEN_PREFIX } from '../domain/token.ts'

/** The use of a token. `client`: sent to a service; `server`: accepted by a service, with all scopes. */
export type TokenUse = 'client' | 'server'

/** One setting: `--store`, `PLANTSTORE_STORE` and `Config.store` are one name in three spellings. */
export interface Setting<T> {
  readonly flag: string
  readonly value: string
  readonly fallback: string | undefined
  readonly help: string
  /**
   * @param environment completes a value, such as by the password of a database
   * @param use the use of the token
   */
  parse(text: string, environment: NodeJS.ProcessEnv, use: TokenUse): T
}

/** The values of settings, by their names. */
export type ValuesOf<Settings extends Readonly<Record<string, Setting<unknown>>>> = {
  readonly [Name in keyof Settings]: ReturnType<Settings[Name]['parse']>
}

/** A setting with a default. @param parse throws an Error that says what the text must be */
export const setting = <T>(
  flag: string,
  value: string,
  fallback: string,
  help: string,
  parse: Setting<T>['parse'],
): Setting<T> => ({ flag, value, fallback, help, parse })

/** A setting without a default. */
export const optional = <T>(
  flag: string,
  value: string,
  help: string,
  parse: Setting<T>['parse'],
): Setting<T | undefined> => ({ flag, value, fallback: undefined, help, parse })

/** Any text but the empty one. */
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

/** Milliseconds, from a text like `500ms`, `30s` or `5m`. */
export function duration(given: string): number {
  const match = /^(\d+)(ms|s|m)$/.exec(given)
  const milliseconds = { ms: 1, s: 1000, m: 60_000 }[match?.[2] ?? ''] ?? Number.NaN
  const parsed = Number(match?.[1]) * milliseconds
  if (Number.isNaN(parsed) || parsed > 3_600_000)
    throw new Error(`"${given}" is not a time like 500ms, 30s or 5m, up to 60m`)
  return parsed
}

/** Milliseconds, from a text like `90s`, `12h` or `7d`. */
export function longDuration(given: string): number {
  const match = /^(\d{1,9})(s|m|h|d)$/.exec(given)
  const milliseconds = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match?.[2] ?? ''] ?? Number.NaN
  const parsed = Number(match?.[1]) * milliseconds
  if (Number.isNaN(parsed) || parsed > MAX_TIME)
    throw new Error(`"${given}" is not a time like 90s, 12h or 7d, up to 3650d`)
  return parsed
}

const MAX_TIME = 3650 * 86_400_000

/** Bytes, from a text like `4096`, `64KiB` or `1MiB`. */
export function size(given: string): number {
  const match = /^(\d+)(B|KiB|MiB)?$/.exec(given)
  const unit = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20 }[match?.[2] ?? 'B'] ?? Number.NaN
  const parsed = Number(match?.[1]) * unit
  if (Number.isNaN(parsed) || parsed < 1 || parsed > 2 ** 29)
    throw new Error(`"${given}" is not a size like 64KiB or 1MiB, up to 512MiB`)
  return parsed
}

/** Bytes, from a text like `512MiB` or `4GiB`. */
export function memorySize(given: string): number {
  const match = /^(\d{1,7})(MiB|GiB)$/.exec(given)
  const parsed = Number(match?.[1]) * (match?.[2] === 'GiB' ? 2 ** 30 : 2 ** 20)
  if (Number.isNaN(parsed) || parsed < 2 ** 20 || parsed > 2 ** 40) {
    throw new Error(`"${given}" is not a size like 512MiB or 4GiB, from 1MiB to 1024GiB`)
  }
  return parsed
}

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

/** @param values the texts that the setting may have */
export function oneOf<T extends string>(...values: readonly T[]): (text: string) => T {
  return (given) => {
    const value = values.find((each) => each === given)
    if (value === undefined) throw new Error(`"${given}" is not one of ${values.join(', ')}`)
    return value
  }
}

export function onOrOff(given: string): boolean {
  if (given !== 'on' && given !== 'off') throw new Error(`"${given}" is neither on nor off`)
  return given === 'on'
}

/** A time that is no shorter than another one. */
export const atLeast =
  (min: string, parse: (text: string) => number) =>
  (given: string): number => {
    const parsed = parse(given)
    if (parsed < parse(min)) throw new Error(`"${given}" is less than ${min}`)
    return parsed
  }

/** Milliseconds. PostgreSQL takes 0 for no limit. */
export const timeout = atLeast('100ms', duration)

/** Reads the address that clients use. It has no path, because the pages and the labels use the paths below `/`. */
export function publicUrl(given: string): string {
  const url = URL.parse(given)
  if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new Error('must be an address like https://plants.example, without a path')
  }
  return url.origin
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
