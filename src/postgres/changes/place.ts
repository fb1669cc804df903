import { readPosition, writePosition } from '../../domain/changes.ts'

/** A tick (sql/postgres/000011.sql). */
export interface Tick {
  readonly tick: bigint
  readonly mark: bigint
}

/** The place of an entry: in the tick in which it became visible, the row with this number, and its element. */
export interface Place extends Tick {
  readonly number: bigint
  readonly element: number
}

/** Hexadecimal digits of the members of a place, in the order in which they compare. */
const DIGITS = { tick: 12, mark: 8, number: 14, element: 4 } as const
const PLACE = new RegExp(
  `^${Object.values(DIGITS)
    .map((digits) => `([0-9a-f]{${digits}})`)
    .join('')}$`,
)
const LAST_NUMBER = 16n ** BigInt(DIGITS.number) - 1n
const LAST_ELEMENT = 16 ** DIGITS.element - 1

/** The place after all entries of a tick. */
export const endOf = ({ tick, mark }: Tick): Place => ({ tick, mark, number: LAST_NUMBER, element: LAST_ELEMENT })

export const isEndOfTick = ({ number }: Place): boolean => number === LAST_NUMBER

export function positionOf(history: string, { tick, mark, number, element }: Place): string {
  const hex = (value: bigint | number, digits: number) => value.toString(16).padStart(digits, '0')
  const place = hex(tick, DIGITS.tick) + hex(mark, DIGITS.mark) + hex(number, DIGITS.number)
  return writePosition({ history, place: place + hex(element, DIGITS.element) })
}

/**
 * Reads a position. Its history may be another one.
 *
 * @throws AppError 40003 for a malformed position
 */
export function placeOf(position: string): { readonly history: string; readonly place: Place | undefined } {
  const { history, place } = readPosition(position)
  if (!PLACE.test(place)) return { history, place: undefined }
  const [, tick, mark, number, element] = PLACE.exec(place) ?? []
  const value = (digits: string | undefined) => BigInt(`0x${digits}`)
  return {
    history,
    place: { tick: value(tick), mark: value(mark), number: value(number), element: Number(value(element)) },
  }
}
