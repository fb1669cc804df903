import { nameHere } from './service.ts'

/**
 * Everything that the page keeps in the storage of the browser, and when it goes. `refusal`: as soon as the service
 * refuses the token, as it may be that of a lost device, or another person signs in; `sign-out`: what a person has
 * typed or counted outlives their token; `never`: it says nothing of a person or a plant. What IndexedDB keeps has the
 * same ends: plants seen (`refusal`), and changes that wait (`sign-out`, or when they are sent or dropped).
 */
const STORED = {
  'plantstore-token': 'session',
  'plantstore-own': 'session',
  'plantstore-sign-in': 'session',
  'plantstore-renewal': 'session',
  'plantstore-owner': 'refusal',
  'plantstore-searches': 'refusal',
  'plantstore-not-same': 'refusal',
  'plantstore-imports': 'refusal',
  'plantstore-labels': 'refusal',
  'plantstore-label-addresses': 'refusal',
  'plantstore-drafts': 'sign-out',
  'plantstore-entered-plants': 'sign-out',
  'plantstore-new-token': 'sign-out',
  'plantstore-stocktake': 'sign-out',
  'plantstore-stocktake-found': 'sign-out',
  'plantstore-language': 'never',
} as const

export type StoredName = keyof typeof STORED

/** Where the browser keeps something of this service. */
export const storedAs = (name: StoredName): string => nameHere(name)

const OWNER = storedAs('plantstore-owner')
/** The id of the token whose person keeps something here. */
let owner = ''
const listeners: (() => void)[] = []

/** Registers `forget`, which runs once everything with the end `refusal` is gone. */
export const onForgotten = (forget: () => void): void => {
  listeners.push(forget)
}

/** Keeps a text on this device. @throws DOMException where the browser has no room */
export function keepStored(name: StoredName, text: string): void {
  noteOwner()
  localStorage.setItem(storedAs(name), text)
}

/** Notes that the person keeps something on this device. @throws DOMException where the browser has no room */
export function noteOwner(): void {
  if (localStorage.getItem(OWNER) === null) localStorage.setItem(OWNER, owner)
}

/**
 * Forgets what another person has left here.
 *
 * @param id of the token that signs in
 * @param isGuest whether the device remembers the token of another person, who has not left
 */
export function ownStored(id: string, isGuest: boolean): void {
  owner = id
  const kept = localStorage.getItem(OWNER)
  if (kept !== null && kept !== id && !isGuest) forgetStored('refusal')
}

/** Forgets what ends now. What a person has typed ends with a sign-out alone. */
export function forgetStored(end: 'refusal' | 'sign-out'): void {
  for (const [name, ends] of Object.entries(STORED)) {
    if (ends !== end && ends !== 'refusal') continue
    for (const storage of [sessionStorage, localStorage]) storage.removeItem(nameHere(name))
  }
  for (const forget of listeners) forget()
}
