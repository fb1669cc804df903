const INTEGER = /^\s*([-−]?)0*(\d{1,19})\s*$/
const MOST = 2n ** 63n

/** Returns null if the text is no int64. */
export function idIn(text: string): bigint | null {
  const [, sign, digits] = INTEGER.exec(text) ?? []
  if (digits === undefined) return null
  const id = sign === '' ? BigInt(digits) : -BigInt(digits)
  return id >= -MOST && id < MOST ? id : null
}

/** The id that a person types, as `1234` or `#1234`; null if the text is none. */
export const idTyped = (text: string): bigint | null => idIn(text.replace(/^\s*#/, ''))

/**
 * A code that a hand scanner typed with the keys of another keyboard layout, or with characters of its own around it.
 * Scanners press the keys of a US keyboard, and the computer reads each as its own layout says.
 */
export interface GarbledCode {
  readonly id: bigint
  /** All of the code except the id. It is the same for all labels of a service, a scanner and a computer. */
  readonly manner: string
}

/** What keys type, as patterns except for the digits. */
interface Layout {
  /** The digits 0 to 9. */
  readonly digits: string
  readonly minus: string
  /** The mark between `id` and the id. */
  readonly equals: string
}

const LATIN = '0123456789'
const FRENCH = 'à&é"\'(-è_ç'
/** Also French on a Mac. */
const BELGIAN = 'à&é"\'(§è!ç'
/** With caps lock, which works as a shift lock in this layout. */
const GERMAN_CAPS = '=!"§$%&/()'

/**
 * Layouts by what the key with the letter `a` types. Where the digits are Latin, the first mark is the sign of equality,
 * so that a second one is the minus. A digit in its place means that the computer has swallowed keys, as it may after a
 * dead key.
 */
const IN_ADDRESSES: Readonly<Record<string, readonly Layout[]>> = {
  a: [
    { digits: LATIN, minus: '[^\\p{N}]', equals: '[^\\p{N}]' },
    { digits: GERMAN_CAPS, minus: '\\?', equals: '`' },
  ],
  q: [
    { digits: FRENCH, minus: '\\)', equals: '=' },
    { digits: BELGIAN, minus: '\\)', equals: '-' },
    // With caps lock.
    { digits: LATIN, minus: '[)°]', equals: '[^\\p{N}]' },
  ],
}

const ALONE: readonly Layout[] = [
  { digits: LATIN, minus: '[-−]', equals: '' },
  { digits: FRENCH, minus: '\\)', equals: '' },
  { digits: BELGIAN, minus: '\\)', equals: '' },
]

/** Characters. A label's address is shorter, and the device keeps those that the person has accepted. */
const LONGEST = 500

/** The address of a label up to its `id`, without what depends on the layout: the marks, and the letters a and q. */
const ADDRESS = /^.*https?.{3}.+pl([aq])nt.[iı]d/isu
/** What scanners send before a code: its symbology (ISO/IEC 15424), or an asterisk. */
const PREFIX = /^(?:\][a-z]\d|\*)?/i
/** What scanners send after a code: control characters in letters, as `\n`, or a mark such as an asterisk. */
const suffixAfter = (digits: string): string => `((?:[^\\p{N}${digits}][nrt]){0,2}[^\\p{N}\\p{L}${digits}]?)`

/** The text without what scanners send around it. */
export const withoutMarks = (text: string): string =>
  text
    .trim()
    .replace(PREFIX, '')
    .replace(/(?:\\[nrt]|\*){1,3}$/i, '')

/** Whether the text is the address of a label in the layout of this computer, whatever stands around it. */
const isPlain = (text: string): boolean => /#\/plant\?id=/i.test(text)

/** @returns undefined where the text is no label, where two readings are possible, and where keys are missing */
export function garbledCode(text: string): GarbledCode | undefined {
  const typed = text.trim()
  if (typed.length > LONGEST || isPlain(typed)) return undefined
  const address = ADDRESS.exec(typed)
  const before = address?.[0] ?? PREFIX.exec(typed)?.[0] ?? ''
  const rest = typed.slice(before.length).toLowerCase()
  const layouts = address === null ? ALONE : (IN_ADDRESSES[address[1]?.toLowerCase() ?? ''] ?? [])
  const readings = layouts.map((layout) => reading(layout, rest)).filter((each) => each !== undefined)
  const [first] = readings
  if (first === undefined || readings.some(({ id }) => id !== first.id)) return undefined
  return { id: first.id, manner: `${before}${first.manner}` }
}

/** Whether a text is a label that signs a person in, in whatever layout. */
export const isGarbledSignIn = (text: string): boolean => /https?.{3}.+token.ps/isu.test(text)

/** Reads what follows the address. Labels have ids without leading zeros. */
function reading({ digits, minus, equals }: Layout, rest: string): GarbledCode | undefined {
  const own = digits.replaceAll('-', '\\-')
  const pattern = new RegExp(`^(${equals})(${minus})?([${own}]{1,19})${suffixAfter(own)}$`, 'u')
  const [, mark = '', sign = '', number, suffix = ''] = pattern.exec(rest) ?? []
  if (number === undefined) return undefined
  const latin = Array.from(number, (digit) => digits.indexOf(digit)).join('')
  const id = /^(?:0|[1-9]\d*)$/.test(latin) ? idIn(`${sign === '' ? '' : '-'}${latin}`) : null
  return id === null ? undefined : { id, manner: `${mark}${sign}${digits}${suffix}` }
}
