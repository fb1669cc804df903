import { asksForSignIn, PlantstoreError, PlantstoreUnreachable } from '../../../client/src/index.ts'
import { AppError } from '../../../src/domain/errors.ts'
import { MAX_NAME, MAX_TAG } from '../../../src/domain/plant.ts'
import { language, say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { inEnglish } from './named.ts'

/** An error whose message the page has worded for people. */
export class PageError extends Error {}

/** Words an error for people. */
export function said(error: unknown): string {
  if (asksForSignIn(error)) return say('fault.otherSignIn')
  if (error instanceof PlantstoreUnreachable) return say('fault.unreachable')
  if (error instanceof PlantstoreError || error instanceof AppError) return saidOf(error.number, error.message)
  if (error instanceof DOMException && error.name === 'NotReadableError') return say('fault.fileChanged')
  return error instanceof PageError
    ? error.message
    : foreign(sentence(error instanceof Error ? error.message : String(error)))
}

/** Words a refusal for people. The service speaks English, so a number that the page does not word stays in English. */
export function saidOf(number: number, message: string): string {
  const key = numberKey(number, message)
  if (key !== undefined) return say(key)
  const long = number === 40002 ? message.split('; ').map((fault) => LONG.exec(fault)?.[1]) : []
  if (long.length > 0 && long.every((member) => member === 'name' || member === 'tag')) {
    return long.map(saidTooLong).join(' ')
  }
  const [, cell] = /^([A-Z]+\d+) is a formula without a value: /.exec(message) ?? []
  if (cell !== undefined) return say('fault.noValue', { cell })
  if (language.value === 'en') return sentence(message)
  if (number === 40002 && WRONG_ID.test(message)) return saidBadId()
  const [, ofRow] = ROW_FAULTS.find(([pattern]) => pattern.test(message)) ?? []
  return ofRow === undefined ? inEnglish(sentence(message)) : say(ofRow)
}

const LONG = /^(name|tag) must have at most \d+ characters$/

/** One that a spreadsheet program has rounded is another matter. */
const WRONG_ID = /^id (?!.*rounded)[^;]*$/

/** Faults of a row that is imported, each as its only one. */
const ROW_FAULTS: readonly (readonly [RegExp, PlainKey])[] = [
  [/^id [^;]*rounded it$/, 'fault.rounded'],
  [/^a quotation mark is /, 'fault.quote'],
  [/^the row must have \d+ cells/, 'fault.cells'],
  [/^the (?:name|tag) is the error /, 'fault.formula'],
  [/^the row has names of columns/, 'fault.headings'],
  [/^(?:name|tag) must not contain U\+0000[^;]*$/, 'fault.character'],
]

export const saidBadId = (): string =>
  say('plants.badId', { least: '−9223372036854775808', most: '9223372036854775807' })

/** Says that a name or a tag is longer than a plant can have. */
export const saidTooLong = (member: 'name' | 'tag'): string =>
  member === 'name' ? say('fault.longName', { most: MAX_NAME }) : say('fault.longTag', { most: MAX_TAG })

/** Marks a text of the service as English where the page has another language. */
export const foreign = (text: string): string => (language.value === 'en' ? text : inEnglish(text))

function numberKey(number: number, message: string): PlainKey | undefined {
  // A token of an identity provider has other faults, which its operator has to know.
  if (number === 40102) return /revoked|unknown/.test(message) ? 'fault.unknownToken' : undefined
  return WORDED[number] ?? (language.value === 'en' ? undefined : TRANSLATED[number])
}

/** Refusals whose messages are not for people. */
const WORDED: Readonly<Record<number, PlainKey>> = {
  40103: 'fault.expired',
  40301: 'fault.notAllowed',
  40303: 'fault.outside',
  42901: 'fault.tooMany',
  50001: 'fault.unexpected',
}

/** Refusals that people meet, for the languages that the service does not speak. */
const TRANSLATED: Readonly<Record<number, PlainKey>> = {
  40402: 'fault.absent',
  40901: 'fault.idTaken',
  40903: 'fault.lastToken',
  40904: 'fault.manyTokens',
  41201: 'fault.changed',
  50301: 'fault.outOfReach',
  50302: 'fault.busy',
  50303: 'fault.stopping',
  50304: 'fault.full',
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

/** Whether neither the service nor its store has answered: what has no number comes from a proxy. */
export const isSilence = (error: unknown): boolean =>
  error instanceof PlantstoreUnreachable ||
  (error instanceof PlantstoreError && [0, 50301, 50303].includes(error.number))

export const isRefusal = (error: unknown, number: number): boolean =>
  error instanceof PlantstoreError && error.number === number

/** Whether the page itself ended the request, because a newer one replaced it or the person stopped it. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'
