/** The parts of names. The id of a plant determines its name and tag; words are as frequent as in a real collection. */
const STARTS = ['Acanth', 'Begon', 'Calath', 'Dracaen', 'Echever', 'Fritill', 'Gardeni', 'Hydrang', 'Impati', 'Jasmin']
const ENDS = ['ea', 'ia', 'us', 'um', 'ella', 'opsis', 'odendron', 'anthus', 'phyllum', 'aria']
const STEMS = ['alb', 'bicolor', 'crisp', 'delicios', 'elegant', 'florid', 'grandi', 'hirsut', 'insign', 'japonic']
const ENDINGS = ['a', 'ata', 'ensis', 'escens', 'folia', 'icola', 'ifera', 'issima', 'oides', 'ula']
const TAGS = ['houseplant', 'succulent', 'fern', 'tree', 'shrub', 'herb', 'climber', 'aquatic']

const pick = (list: readonly string[], number: number): string => list[number % list.length] ?? ''

/** 32 pseudo-random bits, which depend only on the number (the finalizer of MurmurHash3). */
function mix(number: number): number {
  let hash = Math.imul(number ^ (number >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

const wordsOf = (id: number): [string, string] => {
  const hash = mix(id)
  return [
    pick(STARTS, hash & 0xff) + pick(ENDS, (hash >>> 8) & 0xff),
    pick(STEMS, (hash >>> 16) & 0xff) + pick(ENDINGS, hash >>> 24),
  ]
}

export const nameOf = (id: number): string => `${wordsOf(id).join(' ')} ${id}`
export const tagOf = (id: number): string | undefined => (id % 3 === 0 ? undefined : pick(TAGS, mix(id) >>> 5))

/** The first letters of both words of a plant's name, as a person types in a search. */
export function queryOf(id: number): string {
  const length = 3 + (id % 6)
  return wordsOf(id)
    .map((word) => word.slice(0, length))
    .join('+')
}
