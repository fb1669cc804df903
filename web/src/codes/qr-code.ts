import { correction, generate } from 'lean-qr'

/** Adjacent dark modules of one row. All numbers count modules from the top left corner of the code. */
export interface Run {
  readonly x: number
  readonly y: number
  readonly length: number
}

export interface QrCode {
  /** Modules of one side, without the quiet zone. */
  readonly size: number
  readonly runs: readonly Run[]
}

/** The quiet zone around a code, in modules (ISO 18004). */
export const QUIET = 4

/** Returns the dark modules as the path of an SVG. */
export const pathOf = (runs: readonly Run[]): string =>
  runs.map(({ x, y, length }) => `M${x} ${y}h${length}v1h-${length}z`).join('')

/** Encodes a text at error correction level M, which restores 15% of a code: labels outdoors get damaged. */
export function qrCodeOf(text: string): QrCode {
  const code = generate(text, { minCorrectionLevel: correction.M })
  const runs: Run[] = []
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) {
      if (!code.get(x, y)) continue
      const begin = x
      while (code.get(x + 1, y)) x++
      runs.push({ x: begin, y, length: x - begin + 1 })
    }
  }
  return { size: code.size, runs }
}

/** What stands on a label beside its code. */
export interface LabelText {
  /** Empty for a plant that is not entered yet. The label then leaves room to write the name by hand. */
  readonly name: string
  readonly tag: string | undefined
  readonly id: bigint
}
