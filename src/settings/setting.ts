import type { TokenUse } from './configured-token.ts'

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

/** A setting that may be any text but the empty one. */
export function text(flag: string, value: string, fallback: string, help: string): Setting<string> {
  return {
    flag,
    value,
    fallback,
    help,
    parse: nonEmpty,
  }
}

export function nonEmpty(given: string): string {
  if (given === '') throw new Error('must not be empty')
  return given
}

/** A setting with a default. @param parse throws an Error that says what the text must be */
export function setting<T>(
  flag: string,
  value: string,
  fallback: string,
  help: string,
  parse: (text: string) => T,
): Setting<T> {
  return { flag, value, fallback, help, parse }
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

/** Milliseconds, at least 100. PostgreSQL takes 0 for no limit. */
export function timeout(given: string): number {
  const parsed = duration(given)
  if (parsed < 100) throw new Error(`"${given}" is less than 100ms`)
  return parsed
}
