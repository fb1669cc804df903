import type { DrawnPage } from './pdf-pages.ts'

/** What is dark in a drawing. */
export interface Ink {
  readonly width: number
  /** The numbers of the dark dots. */
  readonly dots: ReadonlySet<number>
  readonly size: number
}

/** The dark dots in a part of a drawn page, in millimetres. */
export function inkIn({ pixels, scale }: DrawnPage, box: { x: number; y: number; width: number; height: number }): Ink {
  const [left, top, width, height] = [box.x, box.y, box.width, box.height].map((length) => Math.round(length * scale))
  const dots = new Set<number>()
  for (let y = 0; y < (height ?? 0); y++) {
    for (let x = 0; x < (width ?? 0); x++) {
      const at = ((top ?? 0) + y) * pixels.width + (left ?? 0) + x
      if ((pixels.grey[at] ?? 255) < 128) dots.add(y * (width ?? 0) + x)
    }
  }
  return { width: width ?? 0, dots, size: dots.size }
}

/** The share of the dots that have a dark one in the other drawing, at most two dots away. */
export function shareNear(one: Ink, other: Ink): number {
  const steps = [-2, -1, 0, 1, 2]
  const around = steps.flatMap((down) => steps.map((across) => down * one.width + across))
  const near = [...one.dots].filter((dot) => around.some((step) => other.dots.has(dot + step)))
  return near.length / one.size
}
