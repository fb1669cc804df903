import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader'
import type { FoundCode } from './reader.ts'

/**
 * Loads ZXing, for browsers that read no codes themselves. The page loads this module only when it opens the camera.
 *
 * @returns reads the QR codes of a picture
 * @throws Error when the service does not answer
 */
export async function zxing(): Promise<(picture: ImageData) => Promise<readonly FoundCode[]>> {
  // Otherwise ZXing loads this file from the internet. A new function makes it try again after a failure.
  const locateFile = () => new URL('zxing_reader.wasm', import.meta.url).href
  await prepareZXingModule({ overrides: { locateFile }, fireImmediately: true })
  return async (picture) => {
    const found = await readBarcodes(picture, { formats: ['QRCode'], tryInvert: false, maxNumberOfSymbols: MOST })
    return found.map(({ text, position: { topLeft, bottomRight } }) => ({
      text,
      x: (topLeft.x + bottomRight.x) / 2 / picture.width,
      y: (topLeft.y + bottomRight.y) / 2 / picture.height,
    }))
  }
}

/** A sheet of labels may be in the picture. */
const MOST = 30
