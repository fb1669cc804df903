import { computed, signal } from '@preact/signals'
import { say } from '../language/language.ts'
import { chosen } from './chosen.ts'
import type { LabelJob } from './document.ts'
import { A5160, faultsOf, L7160, labelsPerPage, roll, type Sheet } from './sheets.ts'

const KINDS = ['l7160', '5160', 'roll', 'own'] as const
export type Kind = (typeof KINDS)[number]

/** The choices of the person, which the browser stores on this device. */
export interface Options {
  readonly kind: Kind
  /** The length that the printer cuts the roll to, in millimetres. */
  readonly length: number
  readonly own: Sheet
  /** The address by which phones reach the service. */
  readonly base: string
}

const KEY = 'plantstore-labels'
export const ROLL_WIDTH = 62
const SHORTEST = 15
const LONGEST = 300

export const options = signal<Options>(remembered())
/** Labels that are missing on the first sheet. The device does not store this: the next sheet is a full one. */
export const skip = signal(0)

export function change(part: Partial<Options>): void {
  options.value = { ...options.value, ...part }
  localStorage.setItem(KEY, JSON.stringify(options.value))
}

/** Reads the stored options. Defaults replace invalid ones. */
function remembered(): Options {
  const kept = parsed(localStorage.getItem(KEY) ?? '{}')
  const own = Object.entries(recordIn(kept['own'])).filter(([, value]) => typeof value === 'number')
  return {
    kind: KINDS.find((kind) => kind === kept['kind']) ?? 'l7160',
    length: typeof kept['length'] === 'number' ? kept['length'] : 29,
    own: { ...L7160, ...Object.fromEntries(own) },
    base: typeof kept['base'] === 'string' ? kept['base'] : '',
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return recordIn(JSON.parse(text))
  } catch {
    return {}
  }
}

function recordIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

export const sheet = computed((): Sheet => {
  const { kind, length, own } = options.value
  return { l7160: L7160, '5160': A5160, roll: roll(ROLL_WIDTH, length), own }[kind]
})

/** The faults of the options, by the names of the fields. */
export const faults = computed((): ReadonlyMap<string, string> => {
  const { kind, length, base } = options.value
  const found = new Map<string, string>(kind === 'own' ? faultsOf(sheet.value) : [])
  if (kind === 'roll' && !(length >= SHORTEST && length <= LONGEST)) {
    found.set('length', say('labels.badNumber', { least: SHORTEST, most: LONGEST }))
  }
  if (originOf(base) === undefined) found.set('base', say('labels.badAddress', { example: 'http://192.168.1.20:8080' }))
  const last = labelsPerPage(sheet.value) - 1
  if (found.size === 0 && !(Number.isInteger(skip.value) && skip.value >= 0 && skip.value <= last)) {
    found.set('skip', say('labels.badWhole', { least: 0, most: last }))
  }
  return found
})

/** The address that the operator gave for clients, or that of this page. */
export const PUBLIC_URL = document.querySelector<HTMLMetaElement>('meta[name="public-url"]')?.content ?? location.origin

export const origin = computed((): string => originOf(options.value.base) ?? PUBLIC_URL)

/** Returns the origin of an address, PUBLIC_URL for an empty address, and undefined for an invalid one. */
function originOf(base: string): string | undefined {
  if (base.trim() === '') return PUBLIC_URL
  const address = URL.parse(base.trim())
  return address !== null && /^https?:$/.test(address.protocol) ? address.origin : undefined
}

/** Whether the address is a loopback address, which leads every phone to itself. */
export const isLoopback = computed(() => {
  const { hostname } = new URL(origin.value)
  return /^(?:localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
})

/** Whether the person wants codes that lead to this device alone. Another visit asks again. */
export const mayLeadHere = signal(false)

/** The address of the page that signs in with a token. No server sees the token: it is in the fragment. */
export const linkWith = (token: string): string => `${origin.value}/#token=${token}`

export const addressOf = (id: bigint): string => `${origin.value}/#/plant?id=${id}`

/** undefined while no label is chosen or an option is invalid. */
export const job = computed((): LabelJob | undefined => {
  if (chosen.value.length === 0 || faults.value.size > 0) return undefined
  return { labels: chosen.value, sheet: sheet.value, skip: skip.value, addressOf }
})
