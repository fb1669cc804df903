import { appendFileSync, closeSync, constants, openSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { Logger } from 'pino'
import { OperatorError } from '../base/operator-error.ts'
import { isFileOfStore } from '../base/store-path.ts'
import type { Actor } from '../domain/actor.ts'
import { AuditLog } from '../domain/audit.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import { fileFault } from './file-fault.ts'
import { isNoJsonLog } from './file-signature.ts'
import { fileTarget, LineWriter, standardError } from './line-writer.ts'
import { formatOf } from './log.ts'

/** The number of the level info in pino. */
const INFO = 30
/** Milliseconds. At the load of a benchmark, thousands of lines share a write. */
const GATHER_TIME = 100

export interface ServiceAudit {
  readonly audit: AuditLog
  readonly lines: LineWriter
  /** Opens the file again after a program for log rotation has moved it. Does nothing for standard error. */
  reopen(): void
}

/**
 * Opens the audit log of a service: a file, or standard error at the log's level info and in the log's format.
 *
 * @throws OperatorError when the file can't be opened
 */
export function serviceAudit(config: Config, log: Logger): ServiceAudit {
  const { auditLog, auditBuffer, store } = config
  const path = auditLog === '-' ? undefined : auditLog
  const open = path === undefined ? standardError : () => fileTarget(openAppending(path, [store]))
  const lines = new LineWriter(open, {
    maxWaiting: auditBuffer,
    gatherTime: GATHER_TIME,
    format: path === undefined ? formatOf(config) : (line) => line,
    dropped: 'audit lines were dropped',
    onFault: (error) => log.error({ err: error }, 'the audit log cannot be written; its lines wait'),
    onMended: () => log.warn('the audit log is written again'),
  })
  const isOn = auditLog === '-' ? () => log.levelVal <= INFO : () => path !== undefined
  return {
    audit: new AuditLog(lines, isOn),
    lines,
    reopen() {
      try {
        if (path !== undefined) lines.reopen()
      } catch (error) {
        log.error({ err: error }, 'the audit log could not be opened again, so the present file goes on')
      }
    },
  }
}

/** Writes the actions of a command to the audit log. */
export class CommandAudit {
  readonly #file: number | undefined
  readonly #actor: Actor
  readonly #log: AuditLog

  /**
   * @param stores the stores of the command, whose files can't be the audit log
   * @param withoutFile the target of lines when no file is set: `standard error`, unless that is a terminal, or `none`
   *   for a command whose summary says the same
   * @throws OperatorError when the file can't be opened, so that the command does nothing without a line
   */
  constructor(
    auditLog: Config['auditLog'],
    stores: readonly StoreAddress[],
    actor: Actor,
    withoutFile: 'standard error' | 'none',
  ) {
    this.#actor = actor
    this.#file = auditLog === undefined || auditLog === '-' ? undefined : openAppending(auditLog, stores)
    // On a terminal, a person reads the command's own output.
    const isOn =
      this.#file !== undefined || (auditLog === '-' && withoutFile === 'standard error' && !process.stderr.isTTY)
    this.#log = new AuditLog({ write: (line) => this.#writeLine(line) }, () => isOn)
  }

  write(operation: string, outcome: string, details: object): void {
    if (this.#log.isOn) this.#log.write({ operation, outcome, details, actor: this.#actor, user: userName() })
  }

  /**
   * Runs long work, and writes a line at its start and one at its end.
   *
   * @param done the outcome of completed work
   * @param work returns whether it has completed
   */
  async around(operation: string, details: () => object, done: string, work: () => Promise<boolean>): Promise<void> {
    this.write(operation, 'began', details())
    let outcome = 'broken off'
    try {
      if (await work()) outcome = done
    } finally {
      this.write(operation, outcome, details())
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }

  /** Writes a line, and on a failure prints it on standard error: the work is already done. */
  #writeLine(line: string): void {
    if (this.#file === undefined) {
      process.stderr.write(line)
      return
    }
    try {
      appendFileSync(this.#file, line)
    } catch (error) {
      process.stderr.write(`plantstore: the audit log cannot be written (${(error as Error).message}): ${line}`)
    }
  }
}

/** O_NONBLOCK makes an open fail at once for a pipe without a reader, and a write for a slow reader. */
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants

/** @throws OperatorError when the file can't be opened, or has other content, which lines at its end would damage */
function openAppending(path: string, stores: readonly StoreAddress[]): number {
  if (isNoJsonLog(path) || stores.some((store) => store.engine === 'sqlite' && isFileOfStore(path, store.path))) {
    throw new OperatorError(`${path}: has other content than an audit log; choose another file`)
  }
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)
  } catch (error) {
    throw fileFault(path, error)
  }
}

/** Returns the name of the account, or its number if it has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
