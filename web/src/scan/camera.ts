import { pause } from '../page/pause.ts'
import { aimedAt, type CodeReader, codeReader } from './reader.ts'

/** Why the camera shows nothing. */
export type CameraFault = 'insecure' | 'refused' | 'absent' | 'busy' | 'ended' | 'no-reader' | 'other'

export class CameraError extends Error {
  readonly fault: CameraFault

  constructor(fault: CameraFault, cause?: unknown) {
    super(cause instanceof Error ? cause.message : fault, { cause })
    this.fault = fault
  }
}

/** ms from one picture to the next. The page stays quick, as it reads pictures in its only thread. */
const PAUSE = 100
/** ms without a code after which the same one counts as read again. */
const AWAY = 2000

interface Scanning {
  /** Called once the video shows the picture of the camera, and codes are read. */
  readonly onOpen: () => void
  /** Called with the text of a code, once for as long as it stays in the picture. */
  readonly onCode: (text: string) => void
  /** Whether to leave codes unread for now. */
  readonly isWaiting: () => boolean
}

/**
 * Shows the picture of the camera, and reads codes until `signal` aborts. The camera is off when it returns or throws;
 * an abort switches it off at once.
 *
 * @throws CameraError
 */
export async function scan(video: HTMLVideoElement, scanning: Scanning, signal: AbortSignal): Promise<void> {
  const stream = await openCamera()
  const stop = () => {
    for (const track of stream.getTracks()) track.stop()
  }
  signal.addEventListener('abort', stop)
  try {
    if (signal.aborted) return
    video.srcObject = stream
    await video.play()
    const read = await codeReader().catch((error: unknown) => {
      throw new CameraError('no-reader', error)
    })
    scanning.onOpen()
    await readCodes(video, read, stream, scanning, signal)
  } catch (error) {
    // An abort ends the video, too.
    if (!signal.aborted) throw error instanceof CameraError ? error : new CameraError('other', error)
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
    if (video.srcObject === stream) video.srcObject = null
  }
}

async function readCodes(
  video: HTMLVideoElement,
  read: CodeReader,
  stream: MediaStream,
  { onCode, isWaiting }: Scanning,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined
  let seen = 0
  for (; !signal.aborted; await pause(PAUSE, signal)) {
    if (!stream.active) throw new CameraError('ended')
    const text = isWaiting() ? undefined : aimedAt(await read(video))
    if (signal.aborted) return
    const now = performance.now()
    // The code that was read before the person typed may still be in the picture.
    if (isWaiting()) seen = now
    else if (text !== undefined) {
      if (text !== last || now - seen > AWAY) onCode(text)
      last = text
      seen = now
    }
  }
}

/** Opens the camera on the back of the device, if it has one there. */
async function openCamera(): Promise<MediaStream> {
  // Browsers have no cameras on pages that an attacker on the way could change.
  const devices: MediaDevices | undefined = navigator.mediaDevices
  if (devices === undefined) throw new CameraError('insecure')
  try {
    const video = { facingMode: { ideal: 'environment' }, width: { ideal: 1280 }, height: { ideal: 720 } }
    return await devices.getUserMedia({ video, audio: false })
  } catch (error) {
    throw new CameraError(error instanceof DOMException ? (FAULTS[error.name] ?? 'other') : 'other', error)
  }
}

/** https://www.w3.org/TR/mediacapture-streams/#dom-mediadevices-getusermedia */
const FAULTS: Readonly<Record<string, CameraFault>> = {
  NotAllowedError: 'refused',
  SecurityError: 'refused',
  NotFoundError: 'absent',
  OverconstrainedError: 'absent',
  NotReadableError: 'busy',
  AbortError: 'busy',
}
