/**
 * Plants like those of a large collection: few genera, words and tags are frequent and most are rare (Zipf's law),
 * names begin with their genus, and a third has no tag. The id determines the plant.
 */
import type { NewPlant } from '../src/domain/plant.ts'

const SYLLABLES = 'ba ce di fo gu hy ja ke li mo nu pa que ri so tu va xe yo zi'.split(' ')
const ENDS = ['a', 'um', 'us', 'is', 'ea', 'oides', 'ensis', 'ata', 'iflora', 'ifolia']
export const GENERA = 4000
const EPITHETS = 30_000
const CULTIVARS = 60_000
export const TAGS = 800

/** The n-th most frequent word of a kind; the shift keeps kinds apart. */
function word(n: number, shift: number, endings: boolean): string {
  let rest = n * 7919 + shift
  let text = ''
  for (let i = 0; i < 3 || rest > 0; i++) {
    text += SYLLABLES[rest % SYLLABLES.length] ?? ''
    rest = Math.floor(rest / SYLLABLES.length)
  }
  return endings ? text + (ENDS[n % ENDS.length] ?? '') : text
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
export const genus = (n: number): string => capital(word(n, 11, true))
export const epithet = (n: number): string => word(n, 500_003, true)
const cultivar = (n: number): string => capital(word(n, 900_007, false))
export const tag = (n: number): string => `${word(n, 77_003, false)} ${n % 3 === 0 ? 'bed' : 'house'}`

/** A pseudo-random number from 0 to 1, which depends only on the arguments (the finalizer of MurmurHash3). */
export function chance(id: number, salt: number): number {
  let hash = Math.imul(id ^ (id >>> 16) ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** A rank below `count`; rank r is about 1/(r+1) as frequent as the first. */
export const zipf = (count: number, x: number): number => Math.min(count - 1, Math.floor((count + 1) ** x) - 1)

export function plantOf(id: number): NewPlant {
  const name = [genus(zipf(GENERA, chance(id, 1))), epithet(zipf(EPITHETS, chance(id, 2)))]
  if (chance(id, 3) < 0.4) name.push(`'${cultivar(zipf(CULTIVARS, chance(id, 4)))}'`)
  const tagged = chance(id, 5) < 2 / 3 ? tag(zipf(TAGS, chance(id, 6))) : undefined
  return { id: BigInt(id), name: name.join(' '), tag: tagged }
}
