import fc from 'fast-check'
import { MAX_ID, MIN_ID } from '../../src/domain/plant.ts'
import { anyCharacter } from './property.ts'

/** Any id. Ids at both ends of int64 and where doubles begin to round are frequent. */
export const anyId = fc.oneof(
  fc.constantFrom(MIN_ID, MIN_ID + 1n, -1n, 0n, 2n ** 53n, 2n ** 53n + 1n, MAX_ID - 1n, MAX_ID),
  fc.bigInt({ min: MIN_ID, max: MAX_ID }),
)

/** Any text of a plant. Many have characters that files and spreadsheets treat specially. */
export const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 30 }).map((text) => text.replaceAll('\0', '')),
  fc.string({
    unit: fc.constantFrom('"', ',', '\n', '\r', ' ', 'a', '\\', '=', '\ufeff', '😀', '\u2028'),
    maxLength: 8,
  }),
  fc.constantFrom('', '""', '=1+1', '+1', '-1', '@a', '\t', 'null', '{}', '\u0001', '\u007f', '\uffff', '\u{10ffff}'),
)

export const anyPlant = fc.record(
  { id: anyId, name: anyText, tag: fc.option(anyText, { nil: undefined }) },
  { noNullPrototype: true },
)
