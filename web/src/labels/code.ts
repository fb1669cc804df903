import { correction, generate } from 'lean-qr'

/** A row of dark modules that touch, in modules from the top left corner of the code. */
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

/** What ISO 18004 asks to stay blank around a code, in modules. */
export const QUIET = 4

/** The code of a text. At least 15% of it may be damaged: labels stand in the rain. */
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
