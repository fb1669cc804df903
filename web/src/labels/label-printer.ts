export { zplOf } from './zpl.ts'

/** What this module uses of WebUSB. https://wicg.github.io/webusb/ */
export interface Usb {
  requestDevice(options: { readonly filters: readonly { readonly classCode: number }[] }): Promise<UsbDevice>
}

interface UsbDevice {
  readonly configuration: { readonly interfaces: readonly UsbInterface[] } | null
  open(): Promise<void>
  close(): Promise<void>
  selectConfiguration(value: number): Promise<void>
  claimInterface(number: number): Promise<void>
  transferOut(endpoint: number, data: Uint8Array<ArrayBuffer>): Promise<{ readonly status: string }>
}

interface UsbInterface {
  readonly interfaceNumber: number
  readonly alternate: {
    readonly interfaceClass: number
    readonly endpoints: readonly {
      readonly endpointNumber: number
      readonly direction: string
      readonly type: string
    }[]
  }
}

/** The USB class of printers. */
const PRINTER = 7
/** Bytes of a transfer. A printer that is busy takes no more meanwhile. */
const CHUNK = 64 * 1024

/**
 * Has the person choose a printer. A browser asks for it only soon after a click.
 *
 * @returns sends commands to the printer; throws DOMException if the system keeps the printer to itself, as Windows does
 * @throws DOMException NotFoundError if the person chooses none
 */
export async function choosePrinter(usb: Usb): Promise<(commands: string) => Promise<void>> {
  const device = await usb.requestDevice({ filters: [{ classCode: PRINTER }] })
  return async (commands) => {
    await device.open()
    try {
      if (device.configuration === null) await device.selectConfiguration(1)
      const used = device.configuration?.interfaces.find(({ alternate }) => alternate.interfaceClass === PRINTER)
      const out = used?.alternate.endpoints.find(({ direction, type }) => direction === 'out' && type === 'bulk')
      if (used === undefined || out === undefined) throw new DOMException('', 'NotSupportedError')
      await device.claimInterface(used.interfaceNumber)
      const bytes = new TextEncoder().encode(commands)
      for (let at = 0; at < bytes.length; at += CHUNK) {
        const { status } = await device.transferOut(out.endpointNumber, bytes.slice(at, at + CHUNK))
        if (status !== 'ok') throw new DOMException(status, 'NetworkError')
      }
    } finally {
      await device.close()
    }
  }
}
