import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Field } from '../page/controls.tsx'
import { factOf } from '../page/fact.ts'
import { isText, recordIn } from '../page/json.ts'
import { OnDevice } from '../page/on-device.ts'
import { SERVICE } from '../page/service.ts'

/** The address that the operator gave for clients, or that of this page. */
export const PUBLIC_URL = factOf('public-url') ?? SERVICE

/** What the device keeps of labels: this address, and the choice of a sheet. */
export const labelsKept = new OnDevice('plantstore-labels', recordIn)

/** Replaces some members of it. */
export const keep = (part: Readonly<Record<string, unknown>>): boolean =>
  labelsKept.keep({ ...labelsKept.value, ...part })

/** The address by which phones reach the service, as the person has typed it. */
const base = computed(() => (isText(labelsKept.value['base']) ? labelsKept.value['base'] : ''))

export const baseFault = computed((): string | undefined =>
  typedAddress(base.value) === undefined
    ? say('labels.badAddress', { example: 'http://192.168.1.20:8080' })
    : undefined,
)

/** The address by which phones reach the service, without a slash at its end. */
export const phoneAddress = computed((): string => typedAddress(base.value) ?? PUBLIC_URL)

/** Returns PUBLIC_URL for an empty text, and undefined for an invalid address. */
const typedAddress = (text: string): string | undefined =>
  text.trim() === '' ? PUBLIC_URL : serviceAt(URL.parse(text.trim()))

/** The paths that the service takes in its public address, with or without a slash at the end. */
const PATH = /^(?:\/[\w.~-]+)*\/?$/
/** Characters, as the device keeps addresses that the person has accepted. */
const LONGEST = 500

/** Returns the origin and the path of an address that may be one of a service, without a slash at its end. */
export function serviceAt(url: URL | null): string | undefined {
  if (url === null || !/^https?:$/.test(url.protocol) || !PATH.test(url.pathname)) return undefined
  const address = (url.origin + url.pathname).replace(/\/$/, '')
  return address.length <= LONGEST ? address : undefined
}

/** Whether the address is a loopback address, which leads every phone to itself. */
export const isLoopback = computed(() => {
  const { hostname } = new URL(phoneAddress.value)
  return /^(?:localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
})

/** The address of the page that signs in with a token. No server sees the token: it is in the fragment. */
export const linkWith = (token: string): string => `${phoneAddress.value}/#token=${token}`

/** The address in the code of a plant's label. */
export const addressOf = (id: bigint): string => `${phoneAddress.value}/#/plant?id=${id}`

/** Asks for the address in codes that phones scan. The device remembers it. @param purpose of a good address */
export function PhoneAddress({ purpose }: { readonly purpose: string }): JSX.Element {
  return (
    <Field
      id="label-base"
      label={say('labels.address')}
      fault={baseFault.value}
      note={isLoopback.value ? say('labels.loopback') : purpose}
      type="url"
      placeholder={PUBLIC_URL}
      value={base.value}
      onText={(text) => void keep({ base: text })}
    />
  )
}
