import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { count, counted, onOneLine } from '../base/printable.ts'
import type { Flags } from './command.ts'
import { abortOnSignal } from './signals.ts'

export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)

export const note = (text: string): void => void process.stderr.write(`${onOneLine(text)}\n`)

/** Whether somebody at a terminal can read a question and answer it. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

/** Asks a question of yes or no, on one line. Anything but `y` and `yes` is a no. */
export async function ask(question: string): Promise<boolean> {
  const stop = abortOnSignal()
  using lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    const [answer] = await Promise.race([
      lines.question(onOneLine(question), { signal: stop }).then((line) => [line]),
      once(lines, 'close').then(() => ['']),
    ])
    return /^y(es)?$/i.test(answer?.trim() ?? '')
  } catch (error) {
    stop.throwIfAborted()
    throw error
  }
}

/** Aligns the columns of rows, the first of which is the head. Other people have written some cells. */
export function table(unsafe: readonly (readonly string[])[]): string {
  const rows = unsafe.map((row) => row.map(onOneLine))
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const lineOf = (row: readonly string[]) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')
  return rows.map((row) => `${lineOf(row).trimEnd()}\n`).join('')
}

export interface ProgressState {
  /** The current part of the work; absent for work with one part. */
  readonly doing?: string
  /** The number of plants done; absent for work that does not count plants. */
  readonly rows?: number
  /** The share of the work done, from 0 to 1; undefined while it is unknown. */
  readonly done?: number | undefined
}

/**
 * Runs work that SIGINT and SIGTERM stop, and shows its progress.
 *
 * @param broken the lines to print when the work fails or is stopped
 * @throws Stopped after a signal; any error of the work
 */
export async function withProgress<T>(
  state: () => ProgressState,
  { quiet = false }: Flags,
  work: (progress: Progress, stop: AbortSignal) => Promise<T>,
  broken: (isStopped: boolean) => readonly string[],
): Promise<T> {
  const stop = abortOnSignal()
  try {
    using progress = new Progress(state, quiet)
    return await work(progress, stop)
  } catch (error) {
    for (const line of broken(stop.aborted)) note(line)
    stop.throwIfAborted()
    throw error
  }
}

/** Milliseconds between two updates of the bar, and between two lines where there is no bar. */
const REDRAW = 100
const LINE = 5000
const BAR_WIDTH = 24

/**
 * Shows progress as a bar on a terminal, and elsewhere as a line every few seconds. Packages for progress bars have
 * several dependencies, lack types, or read standard input, which may hold the rows.
 */
export class Progress implements Disposable {
  readonly #stream = process.stderr
  readonly #state: () => ProgressState
  readonly #timer: NodeJS.Timeout | undefined
  /** The present part of the work when it began. Each part has its own speed. */
  #first: ProgressState & { readonly time: number }
  #hasBar = false

  constructor(state: () => ProgressState, quiet: boolean) {
    this.#state = state
    this.#first = { ...state(), time: performance.now() }
    if (quiet) return
    const stream = this.#stream
    // A terminal without colours (TERM=dumb), such as a shell in Emacs, shows control sequences as text.
    this.#timer =
      stream.isTTY && stream.hasColors()
        ? setInterval(() => this.#draw(), REDRAW)
        : setInterval(() => stream.write(`${this.#line()}\n`), LINE)
    this.#timer.unref()
  }

  /** Prints a line that stays, above the bar. */
  note(text: string): void {
    const hadBar = this.#hasBar
    this.#erase()
    note(text)
    // Draws the bar again at once: frequent notes would otherwise hide it.
    if (hadBar) this.#draw()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#erase()
  }

  #draw(): void {
    const width = this.#stream.columns || 80
    const line = this.#line()
    const { done } = this.#state()
    const full = done === undefined ? line : `${bar(done)} ${line}`
    // `\r\x1b[K` erases only one line of the terminal.
    this.#stream.write(`\r${(full.length < width ? full : line).slice(0, width - 1)}\x1b[K`)
    this.#hasBar = true
  }

  #erase(): void {
    if (this.#hasBar) this.#stream.write('\r\x1b[K')
    this.#hasBar = false
  }

  #line(): string {
    const { doing, rows, done } = this.#state()
    const time = performance.now()
    if (this.#first.doing !== doing) this.#first = { ...this.#state(), time }
    const seconds = (time - this.#first.time) / 1000
    const parts = done === undefined ? [] : [`${Math.floor(done * 100)}%`]
    if (rows !== undefined) parts.push(counted(rows, 'plant'))
    if (rows !== undefined && seconds > 0) {
      parts.push(`${count(Math.round((rows - (this.#first.rows ?? 0)) / seconds))}/s`)
    }
    const share = (done ?? 0) - (this.#first.done ?? 0)
    if (done !== undefined && share > 0) parts.push(`${formatTime(((1 - done) / share) * seconds)} left`)
    return [doing, parts.join(', ')].filter((part) => part).join(': ')
  }
}

function bar(done: number): string {
  const full = Math.min(BAR_WIDTH, Math.floor(done * BAR_WIDTH))
  return `[${'='.repeat(full)}${' '.repeat(BAR_WIDTH - full)}]`
}

/** Formats a time as `3.2 s`, `4:07` or `1:02:09`. */
export function formatTime(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  const whole = Math.round(seconds)
  const minutes = String(Math.floor(whole / 60) % 60)
  const rest = String(whole % 60).padStart(2, '0')
  return whole < 3600 ? `${minutes}:${rest}` : `${Math.floor(whole / 3600)}:${minutes.padStart(2, '0')}:${rest}`
}
