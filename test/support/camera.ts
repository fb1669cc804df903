import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { qrCodeOf } from '../../web/src/codes/qr-code.ts'
import type { Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'

const WIDTH = 640
const HEIGHT = 480
/** https://wiki.multimedia.cx/index.php/YUV4MPEG2 */
const HEAD = Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} F20:1 Ip A1:1 C420mpeg2\n`)
const [BLACK, WHITE, NO_COLOUR] = [16, 235, 128]

/** A camera of Chromium, which shows what the test holds before it. */
export interface FakeCamera {
  /** The arguments with which Chromium uses the camera. It grants the use of it, as no person could. */
  readonly args: readonly string[]
  /** Shows codes with these texts beside each other; without any, an empty picture. */
  readonly show: (...texts: readonly string[]) => void
}

export function fakeCamera(scene: Scene): FakeCamera {
  const file = join(tempFolder(scene), 'camera.y4m')
  // Chromium repeats the only picture of the file, and reads it anew each time. The size stays, so no read is too short.
  const show = (...texts: readonly string[]) => writeFileSync(file, pictureOf(texts), { flag: 'r+' })
  writeFileSync(file, pictureOf([]))
  const args = [
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-video-capture=${file}`,
  ]
  return { args, show }
}

function pictureOf(texts: readonly string[]): Buffer {
  const light = Buffer.alloc(WIDTH * HEIGHT, WHITE)
  const width = Math.floor(WIDTH / Math.max(texts.length, 1))
  for (const [i, text] of texts.entries()) draw(light, text, i * width, width)
  return Buffer.concat([HEAD, Buffer.from('FRAME\n'), light, Buffer.alloc((WIDTH * HEIGHT) / 2, NO_COLOUR)])
}

/** Draws a code in the middle of a column. */
function draw(light: Buffer, text: string, left: number, width: number): void {
  const { size, runs } = qrCodeOf(text)
  const module = Math.floor((Math.min(width, HEIGHT) * 0.8) / size)
  const x = left + Math.floor((width - size * module) / 2)
  const y = Math.floor((HEIGHT - size * module) / 2)
  for (const run of runs) {
    for (let row = y + run.y * module; row < y + (run.y + 1) * module; row++) {
      const from = row * WIDTH + x + run.x * module
      light.fill(BLACK, from, from + run.length * module)
    }
  }
}
