import pino from 'pino'
import { onOneLine, printable } from '../printable.ts'

/** Members with a fixed place in the text. */
const FIXED_MEMBERS = ['level', 'time', 'msg', 'err']

/**
 * Turns a JSON line of the log into text for a terminal: the time of day, the level, the message, and all other
 * members. The stack of an error follows on separate lines. Escapes control characters, which could disguise the text.
 */
export function logText(line: string): string {
  const members = JSON.parse(line) as Readonly<Record<string, unknown>>
  const { level, time, msg, err } = members
  const name = pino.levels.labels[Number(level)] ?? String(level)
  const others = Object.entries(members)
    .filter(([member]) => !FIXED_MEMBERS.includes(member))
    .map(([member, value]) => `${member}=${shown(value)}`)
  const head = [timeOfDay(time), name.toUpperCase().padEnd(5), String(msg ?? ''), others.join(' ')]
  return `${onOneLine(head.filter((part) => part !== '').join('  ')).trimEnd()}\n${stackOf(err)}`
}

/** Quotes a text with blanks, so that it cannot pass for further members. */
const shown = (value: unknown): string =>
  typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)

/** Returns the time of day of a time in ISO 8601 that ends in Z. */
const timeOfDay = (time: unknown): string => String(time).slice(11, -1)

/** Returns the stack of an error in pino's form, indented. */
function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return ''
  return `${printable(String(error.stack)).replaceAll(/^/gm, '    ')}\n`
}
