import pino from 'pino'
import { onOneLine, printable } from '../printable.ts'

/** Members of a line that have places of their own in its text. */
const PLACED = ['level', 'time', 'msg', 'err']

/**
 * A JSON line of the log as a person reads it on a terminal: time of day, level, message, then all other members. The
 * stack of an error follows on lines of its own. Characters that could disguise the text are spelled out.
 */
export function logText(line: string): string {
  const members = JSON.parse(line) as Readonly<Record<string, unknown>>
  const { level, time, msg, err } = members
  const name = pino.levels.labels[Number(level)] ?? String(level)
  const others = Object.entries(members)
    .filter(([member]) => !PLACED.includes(member))
    .map(([member, value]) => `${member}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const head = [timeOfDay(time), name.toUpperCase().padEnd(5), String(msg ?? ''), others.join(' ')]
  return `${onOneLine(head.filter((part) => part !== '').join('  ')).trimEnd()}\n${stackOf(err)}`
}

/** Of a time in ISO 8601, which ends in Z. */
const timeOfDay = (time: unknown): string => String(time).slice(11, -1)

/** As pino writes errors. */
function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return ''
  return `${printable(String(error.stack)).replaceAll(/^/gm, '    ')}\n`
}
