import type { FoundCode } from './zxing.ts'

/** Reads the QR codes that a video shows now. */
export type CodeReader = (video: HTMLVideoElement) => Promise<readonly FoundCode[]>

/** https://wicg.github.io/shape-detection-api/#barcode-detection-api */
interface DetectorClass {
  new (options: {
    readonly formats: readonly string[]
  }): {
    detect(
      picture: HTMLVideoElement,
    ): Promise<readonly { readonly rawValue: string; readonly boundingBox: DOMRectReadOnly }[]>
  }
  getSupportedFormats(): Promise<readonly string[]>
}

const QR = 'qr_code'
/** The longer side of a picture that ZXing reads, in pixels. A label then fills enough of it at an arm's length. */
const LONGER_SIDE = 1280

/** Returns the reader of the browser if it has one, else ZXing. @throws Error when ZXing does not load */
export async function codeReader(): Promise<CodeReader> {
  const own = await ownReader()
  if (own === undefined) return zxingReader()
  let used = own
  return async (video) => {
    try {
      return await used(video)
    } catch (error) {
      if (used !== own) throw error
      // The browser has the reader, but the system has none, such as Android without its services.
      used = await zxingReader()
      return used(video)
    }
  }
}

async function ownReader(): Promise<CodeReader | undefined> {
  const { BarcodeDetector: Detector } = globalThis as { readonly BarcodeDetector?: DetectorClass }
  try {
    if (Detector === undefined || !(await Detector.getSupportedFormats()).includes(QR)) return undefined
    const detector = new Detector({ formats: [QR] })
    return async (video) => {
      const found = await detector.detect(video)
      return found.map(({ rawValue, boundingBox: { x, y, width, height } }) => ({
        text: rawValue,
        x: (x + width / 2) / video.videoWidth,
        y: (y + height / 2) / video.videoHeight,
      }))
    }
  } catch {
    return undefined
  }
}

async function zxingReader(): Promise<CodeReader> {
  const read = await (await import('./zxing.js')).zxing()
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  if (context === null) throw new Error('This browser draws no pictures.')
  return (video) => {
    const { videoWidth, videoHeight } = video
    const scale = Math.min(1, LONGER_SIDE / Math.max(videoWidth, videoHeight, 1))
    const width = Math.max(1, Math.round(videoWidth * scale))
    const height = Math.max(1, Math.round(videoHeight * scale))
    context.canvas.width = width
    context.canvas.height = height
    context.drawImage(video, 0, 0, width, height)
    return read(context.getImageData(0, 0, width, height))
  }
}

/** Returns the text of the code in the middle, at which the person aims. */
export const aimedAt = (codes: readonly FoundCode[]): string | undefined =>
  codes.toSorted((a, b) => fromMiddle(a) - fromMiddle(b))[0]?.text

const fromMiddle = ({ x, y }: FoundCode): number => Math.hypot(x - 0.5, y - 0.5)
