import type { Run } from './qr-code.ts'

/** The bars of a code, in modules from its left edge. Each run of modules is one bar, in row 0. */
export interface BarCode {
  /** Modules, without the quiet zones. */
  readonly length: number
  readonly runs: readonly Run[]
}

/** The quiet zone on both sides of the bars, in modules (ISO/IEC 15417). */
export const BAR_QUIET = 10

/**
 * The widths of bars and spaces in turn, of the symbols 0 to 105 and of the end (ISO/IEC 15417, table 1). Each digit is
 * the width of one element, and the elements of a symbol have 11 modules.
 */
const SYMBOLS =
  '212222222122222221121223121322131222122213122312132212221213221312231212112232122132122231113222123122123221' +
  '223211221132221231213212223112312131311222321122321221312212322112322211212123212321232121111323131123131321' +
  '112313132113132311211313231113231311112133112331132131113123113321133121313121211331231131213113213311213131' +
  '311123311321331121312113312311332111314111221411431111111224111422121124121421141122141221112214112412122114' +
  '122411142112142211241211221114413111241112134111111242121142121241114212124112124211411212421112421211212141' +
  '214121412121111143111341131141114113114311411113411311113141114131311141411131211412211214211232'
const END = '2331112'
const [CODE_C, START_B, START_C] = [99, 104, 105]
/** The symbols of a text in set B are its ASCII codes less this. */
const SET_B = 32

/** Encodes an id: a minus sign and an odd digit in set B, and the others as pairs in set C. */
export function code128Of(id: bigint): BarCode {
  const text = String(id)
  const odd = text.startsWith('-') ? 1 + ((text.length - 1) % 2) : text.length % 2
  const single = Array.from(text.slice(0, odd), (character) => character.charCodeAt(0) - SET_B)
  const pairs = (text.slice(odd).match(/../g) ?? []).map(Number)
  const symbols =
    odd === 0 ? [START_C, ...pairs] : [START_B, ...single, ...(pairs.length === 0 ? [] : [CODE_C, ...pairs])]
  const sum = symbols.reduce((total, symbol, i) => total + symbol * Math.max(1, i))
  const widths = [...symbols, sum % 103].map((symbol) => SYMBOLS.slice(symbol * 6, symbol * 6 + 6)).join('') + END
  const runs: Run[] = []
  let x = 0
  for (const [i, width] of Array.from(widths, Number).entries()) {
    if (i % 2 === 0) runs.push({ x, y: 0, length: width })
    x += width
  }
  return { length: x, runs }
}
