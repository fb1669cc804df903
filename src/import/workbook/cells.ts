/** How a workbook writes the values of cells. */
export interface Values {
  /** The texts that cells share. */
  readonly texts: readonly string[]
  /** For each style of a cell, how its numbers show. */
  readonly styles: readonly NumberKind[]
  /** Whether days count from 1904, as Excel for Mac once did. */
  readonly isFrom1904: boolean
}

/** A function writes the digits of a number as its format shows them. */
export type NumberKind = 'number' | 'date' | ((digits: string) => string)

/** Formats of numbers that every workbook has (ECMA-376 part 1, 18.8.30) and that show a date or a time. */
const DATES: ReadonlySet<number> = new Set(
  [
    [14, 22],
    [27, 36],
    [45, 47],
    [50, 58],
  ].flatMap(([first = 0, last = 0]) => Array.from({ length: last - first + 1 }, (_, i) => first + i)),
)

/** Formats of shares that every workbook has. */
const SHARES: ReadonlyMap<number, string> = new Map([
  [9, '0%'],
  [10, '0.00%'],
])
/** Characters of a format (Excel's own bound): each cell with a form reads it again. */
const LONGEST_FORMAT = 255

/** @param code the format of the workbook, if it has one under this number */
export function kindOfFormat(number: number, code = SHARES.get(number)): NumberKind {
  if (code === undefined) return DATES.has(number) ? 'date' : 'number'
  // Colours, conditions and languages stand in brackets, too.
  if (/\[h+\]/i.test(code)) return durationOf(/s/i.test(code))
  if (/\[[ms]+\]/i.test(code)) return 'number'
  if (/[ymdhs]/i.test(code.replaceAll(/"[^"]*"|\\.|_.|\[[^[\]]*\]|general/gi, ''))) return 'date'
  if (code.length > LONGEST_FORMAT) return 'number'
  const parts = code.split(/;(?=(?:[^"]*"[^"]*")*[^"]*$)/)
  if (CONDITION.test(code)) return byCondition(parts)
  // The parts are for positive, negative numbers, zero and texts.
  const [positive = '', negative, zero = positive] = parts.map(withoutBrackets)
  const [kind, ofNegative, ofZero] = [positive, negative, zero].map((part) => part?.trim() && kindOfPart(part))
  if (kind === '' && negative !== undefined) return () => ''
  // A part may be empty, so that what it is for shows nothing.
  if (typeof kind !== 'function' && ofZero !== '') return 'number'
  const written = (how: NumberKind | '' | undefined, digits: string): string =>
    typeof how === 'function' ? how(digits) : digits
  return (digits) => {
    if (Number(digits) === 0) return ofZero === '' ? '' : written(ofZero, digits)
    if (!digits.startsWith('-') || ofNegative === undefined || ofNegative === '') return written(kind, digits)
    return typeof ofNegative === 'function' ? ofNegative(digits.slice(1)) : digits
  }
}

/** Colours and currencies without one stand in brackets. */
const withoutBrackets = (code: string): string => code.replaceAll(/("[^"]*"|\\.)|\[[^[\]]*\]/gs, '$1')

const CONDITION = /\[(<=|>=|<>|[<>=])(-?[0-9.]+)\]/

/** Takes the first part whose condition a number meets, such as `[<100]"Bed "0;"House "0`; one without takes all. */
function byCondition(codes: readonly string[]): NumberKind {
  const parts = codes.map((code) => {
    const [, sign, bound] = CONDITION.exec(code) ?? []
    return { sign, bound: Number(bound), kind: kindOfPart(withoutBrackets(code)) }
  })
  return (digits) => {
    const number = Number(digits)
    const kind = parts.find(({ sign, bound }) => meets(number, sign, bound))?.kind
    return typeof kind === 'function' ? kind(digits) : digits
  }
}

function meets(number: number, sign: string | undefined, bound: number): boolean {
  if (sign === undefined) return true
  if (number === bound) return sign.includes('=')
  return sign.includes(number < bound ? '<' : '>')
}

function kindOfPart(code: string): NumberKind {
  // What keeps the width of a character, or fills the cell with one, shows no text.
  const plain = code.replaceAll(/("[^"]*"|\\.)|[_*]./gs, '$1')
  const [, integer = '', decimals = '', share] = /^(0+)\.?(0{0,15})(%?)$/.exec(plain) ?? []
  if (share === '%') return shareOf(decimals.length)
  return plain.includes('.') && decimals !== '' ? fixedOf(integer.length, decimals.length) : formOf(plain)
}

const fixedOf =
  (integers: number, decimals: number) =>
  (digits: string): string => {
    const number = Math.abs(Number(digits))
    if (number >= 1e15) return digits
    return `${digits.startsWith('-') ? '-' : ''}${number.toFixed(decimals).padStart(integers + 1 + decimals, '0')}`
  }

const shareOf =
  (decimals: number) =>
  (digits: string): string =>
    `${Number((100 * Number(digits)).toPrecision(15)).toFixed(decimals)}%`

const durationOf =
  (hasSeconds: boolean) =>
  (digits: string): string => {
    const seconds = Math.round(Math.abs(Number(digits)) * 86_400)
    const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, ...(hasSeconds ? [seconds % 60] : [])]
    return (digits.startsWith('-') ? '-' : '') + parts.map((part, i) => String(part).padStart(i && 2, '0')).join(':')
  }

/**
 * Reads a format of digits among other characters, such as `00000`, `"Bed "000`, `0000-0000` and `"No. "#`. One that
 * groups digits by thousands is none, as a number so written may be an id.
 */
function formOf(code: string): NumberKind {
  if (!/^(?:"[^"]*"|\\.|[-+() 0#?]|General)+$/is.test(code)) return 'number'
  const parts = [...code.matchAll(/"([^"]*)"|\\(.)|([0#?]+|General)|(.)/gis)].map(
    ([, quoted, escaped, places, plain]) => ({ places, text: quoted ?? escaped ?? plain ?? '' }),
  )
  const places = parts.flatMap((part) => part.places ?? [])
  const count = places.join('').replaceAll(/[^0]/g, '').length
  if (places.length === 0 || (places.length > 1 && /[^0]/.test(places.join('')))) return 'number'
  if (parts.length === 1 && count < 2) return 'number'
  return (digits) => {
    const [, sign, integer] = /^(-?)([0-9]+)$/.exec(wholeOf(digits)) ?? []
    if (integer === undefined) return digits
    const padded = integer.padStart(count, '0')
    let at = 0
    const take = (own: string): string => {
      // The first places take the digits that have none.
      const end = at === 0 ? padded.length - (places.length > 1 ? count - own.length : 0) : at + own.length
      const taken = padded.slice(at, end)
      at = end
      return taken
    }
    return (sign ?? '') + parts.map(({ places: own, text }) => (own === undefined ? text : take(own))).join('')
  }
}

const wholeOf = (digits: string): string =>
  /[.e]/i.test(digits) && Math.abs(Number(digits)) < 1e15 ? Number(digits).toFixed(0) : digits

/**
 * Returns the text of a cell; undefined for an empty one.
 *
 * @param type the attribute `t`
 */
export function textOfCell(
  type: string,
  style: string | undefined,
  value: string,
  { texts, styles, isFrom1904 }: Values,
): string | undefined {
  if (value === '') return undefined
  if (type === 's') return texts[Number(value)] || undefined
  if (type === 'str' || type === 'inlineStr') return unescaped(value)
  if (type === 'b') return value === '1' || value === 'true' ? 'TRUE' : 'FALSE'
  if (type === 'd') return value.replace(/T00:00(:00(\.0+)?)?Z?$/, '')
  if (type === 'e') return value
  const kind = styles[Number(style ?? -1)] ?? 'number'
  if (kind === 'date') return dateOf(Number(value), isFrom1904)
  return kind === 'number' || !Number.isFinite(Number(value)) ? numberOf(value) : kind(numberOf(value)) || undefined
}

/** Texts have characters that XML forbids as `_x000D_`. */
export const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(/_x([0-9a-f]{4})_/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    : text

/**
 * Java programs write each number as a double, such as 1.0 or 1.2345678E7, and Excel writes 2.3 as 2.2999999999999998;
 * both show 15 digits. A long integer keeps its digits, as it may be an id.
 */
export function numberOf(digits: string): string {
  const number = Number(digits)
  if (Number.isSafeInteger(number)) return String(number)
  return Number.isFinite(number) && Math.abs(number) < 1e15 && /[.e]/i.test(digits)
    ? String(Number(number.toPrecision(15)))
    : digits
}

const DAY = 86_400_000
/** Days from 1900 and from 1904 to 1970. */
const FROM_1900 = 25_569
const FROM_1904 = 24_107

/** The last day that exists, 9999-12-31. */
const LAST_DAY = 2_958_466

function dateOf(days: number, isFrom1904: boolean): string | undefined {
  if (!(days >= 0 && days < LAST_DAY)) return String(days)
  // For Excel, 1900 has a 29 February, the 60th day.
  const epoch = isFrom1904 ? FROM_1904 : days < 60 ? FROM_1900 - 1 : FROM_1900
  const seconds = Math.round((days - epoch) * (DAY / 1000))
  const [date = '', time = ''] = new Date(seconds * 1000).toISOString().split('T')
  const clock = time.endsWith(':00.000Z') ? time.slice(0, 5) : time.slice(0, 8)
  if (days < 1) return clock
  return clock === '00:00' ? date : `${date} ${clock}`
}
