import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader'

/** A code in a picture, with its middle from 0 to 1 of the picture's width and height. */
export interface FoundCode {
  readonly text: string
  readonly x: number
  readonly y: number
}

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
