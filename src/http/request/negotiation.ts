import { readMediaTypes } from './media-type.ts'

/**
 * The media type that a client prefers (RFC 9110 section 12.5.1). Parameters other than `q` do not count, because no
 * two offered types differ by them.
 *
 * @param accept the header; an absent or malformed one accepts everything, because some clients send `*; q=.2`
 * @param offered the service's types, the preferred one first
 * @returns undefined where the client accepts none of them
 */
export function preferredType<Type extends string>(
  accept: string | undefined,
  offered: readonly Type[],
): Type | undefined {
  const ranges = accept === undefined || accept === '*/*' ? undefined : readRanges(accept)
  if (ranges === undefined) return offered[0]
  return best(offered, (type) => {
    const [main] = type.split('/', 1)
    return ranges.get(type) ?? ranges.get(`${main}/*`) ?? ranges.get('*/*') ?? 0
  })
}

/** The qualities of media ranges; undefined where the header names no range, or is malformed. */
function readRanges(accept: string): Map<string, number> | undefined {
  const ranges = new Map<string, number>()
  for (const { type, parameters } of readMediaTypes(accept) ?? []) {
    const quality = readQuality(parameters.get('q'))
    if (quality === undefined) return undefined
    ranges.set(type, Math.max(quality, ranges.get(type) ?? 0))
  }
  return ranges.size === 0 ? undefined : ranges
}

/** Content codings of answers, the preferred one first: zstd takes the least processor time for its compression. */
export const CODINGS = ['zstd', 'br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number]

const CODING = /^[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*(?:;[ \t]*q=([0-9.]+)[ \t]*)?$/i

/**
 * The content coding that a client prefers (RFC 9110 section 12.5.3).
 *
 * @param field Accept-Encoding
 * @returns undefined for no coding, also where the client refuses an answer without one
 */
export function preferredCoding(field: string | string[] | undefined): Coding | undefined {
  if (typeof field !== 'string') return undefined
  const qualities = new Map<string, number>()
  for (const element of field.split(',')) {
    const [, name, quality] = CODING.exec(element) ?? []
    if (name !== undefined) qualities.set(name.toLowerCase(), readQuality(quality) ?? 0)
  }
  const any = qualities.get('*') ?? 0
  const coding = best(CODINGS, (name) => qualities.get(name) ?? any)
  if (coding === undefined) return undefined
  const plain = qualities.get('identity') ?? 0
  return (qualities.get(coding) ?? any) >= plain ? coding : undefined
}

/** A weight (RFC 9110 section 12.4.2); undefined where it is malformed. */
function readQuality(text = '1'): number | undefined {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : undefined
}

/** The first name with the highest quality; undefined where no quality is above 0. */
function best<Name extends string>(names: readonly Name[], qualityOf: (name: Name) => number): Name | undefined {
  let found: Name | undefined
  let highest = 0
  for (const name of names) {
    const quality = qualityOf(name)
    if (quality <= highest) continue
    found = name
    highest = quality
  }
  return found
}
