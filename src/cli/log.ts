import pino, { type Logger } from 'pino'
import type { LogLevel } from '../config.ts'

/** JSON lines on standard error, so that standard output stays for people and pipes. */
export function openLog(level: LogLevel): Logger {
  const destination = pino.destination({ dest: 2, sync: false })
  // Whoever read the log is gone; the service is not there for its log.
  destination.on('error', () => {})
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}
