import { isatty } from 'node:tty'
import pino, { type Logger } from 'pino'
import { onOneLine, printable } from '../base/printable.ts'
import type { Config } from '../settings/config.ts'
import { LineWriter, standardError } from './line-writer.ts'

/** Members with a fixed place in the text. */
const FIXED_MEMBERS = ['level', 'time', 'msg', 'err']

export interface Log {
  readonly log: Logger
  readonly lines: LineWriter
}

/** Opens the log on standard error, as JSON or as text on a terminal. Standard output stays free for the banner. */
export function openLog(config: Config): Log {
  const lines = new LineWriter(standardError, {
    maxWaiting: config.logBuffer,
    // A line that waits for others would be lost with a process that a fault ends.
    gatherTime: 0,
    format: formatOf(config),
    dropped: 'log lines were dropped because their reader was too slow',
  })
  const log = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines)
  return { log, lines }
}

/** Returns what turns a line of JSON into a line on standard error: text for a person, or the same. */
export function formatOf({ logFormat }: Pick<Config, 'logFormat'>): (line: string) => string {
  const isText = logFormat === 'text' || (logFormat === 'auto' && isatty(2))
  return isText ? logText : (line) => line
}

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
