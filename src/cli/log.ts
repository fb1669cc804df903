import pino, { type Logger } from 'pino'
import type { LogLevel } from '../config.ts'
import { LogOutput } from './log-output.ts'

/** JSON lines on standard error, so that standard output stays for people and pipes. */
export function openLog(level: LogLevel): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, new LogOutput())
}
