import { isText, itemsIn } from '../page/json.ts'
import { OnDevice } from '../page/on-device.ts'
import { SERVICE } from '../page/service.ts'
import { PUBLIC_URL, phoneAddress, serviceAt } from './service-address.tsx'
import { garbledCode, idIn, idTyped, isGarbledSignIn, withoutMarks } from './typed-code.ts'

/** What the code of a label, or a foreign code, says. */
export type Code =
  | { readonly kind: 'label'; readonly id: bigint }
  /** Has the form of a label, under an address that this device does not know as one of this service. */
  | { readonly kind: 'elsewhere'; readonly id: bigint; readonly address: string }
  /** Reads as a label, typed in a manner that the person has not accepted on this device. */
  | { readonly kind: 'garbled'; readonly id: bigint; readonly manner: string }
  /** Signs in, so nobody should see its text. */
  | { readonly kind: 'sign-in' }
  | { readonly kind: 'other'; readonly text: string }

/** The most addresses and manners that the device keeps. A new one replaces the oldest. */
const MOST = 10

/**
 * What the person has accepted in place of the address of this service: its earlier addresses, as labels outlast them,
 * and the manners of hand scanners.
 */
const earlier = new OnDevice('plantstore-label-addresses', (found) => itemsIn(found, isText).slice(0, MOST))

/** From now on, labels with this address, or typed in this manner, are labels of this service. */
export function accept(accepted: string): void {
  earlier.keep([accepted, ...earlier.value.filter((each) => each !== accepted)].slice(0, MOST))
}

const isOurs = (address: string): boolean =>
  [SERVICE, PUBLIC_URL, phoneAddress.value, ...earlier.value].includes(address)

/** The part of a label's address that names the plant, as `addressOf` in service-address.tsx writes it. */
const PLANT = /^#\/plant\?id=(-?\d{1,19})$/i

/** Reads a code. The page never opens the address in it: it takes the id only. */
export function codeIn(text: string): Code {
  if (text.includes('#token=')) return { kind: 'sign-in' }
  const url = URL.parse(text)
  const id = idIn(PLANT.exec(url?.hash ?? '')?.[1] ?? '')
  const address = url?.pathname.endsWith('/') && url.search === '' ? serviceAt(url) : undefined
  if (address === undefined || id === null) return { kind: 'other', text }
  return isOurs(address) ? { kind: 'label', id } : { kind: 'elsewhere', id, address }
}

/** Reads what a person or a hand scanner types: an id, as `1234` or `#1234`, or the whole code. */
export function codeTyped(text: string): Code {
  const id = idTyped(text)
  if (id !== null) return { kind: 'label', id }
  const code = codeIn(withoutMarks(text))
  if (code.kind !== 'other') return code
  if (isGarbledSignIn(text)) return { kind: 'sign-in' }
  const garbled = garbledCode(text)
  if (garbled === undefined) return { kind: 'other', text: text.trim() }
  return earlier.value.includes(garbled.manner) ? { kind: 'label', id: garbled.id } : { kind: 'garbled', ...garbled }
}
