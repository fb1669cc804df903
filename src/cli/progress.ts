import { count, counted, onOneLine } from '../base/printable.ts'

/** The state of long work. */
export interface ProgressState {
  /** The current part of the work; absent for work with one part. */
  readonly doing?: string
  /** The number of plants done; undefined for work that does not count plants. */
  readonly rows: number | undefined
  /** The share of the work done, from 0 to 1; undefined while it is unknown. */
  readonly done: number | undefined
}

/** Milliseconds between two updates of the bar, and between two lines where there is no bar. */
const REDRAW = 100
const LINE = 5000
/** Milliseconds over which the speed is measured. A short time lets it follow a changing network. */
const WINDOW = 15_000
const BAR_WIDTH = 24

/**
 * Shows progress as a bar on a terminal, and elsewhere as a line every few seconds. Packages for progress bars have
 * several dependencies, lack types, or read standard input, which may hold the rows.
 */
export class Progress {
  readonly #stream = process.stderr
  readonly #state: () => ProgressState
  readonly #timer: NodeJS.Timeout | undefined
  readonly #samples: (ProgressState & { readonly time: number })[] = []
  #hasBar = false

  /** @param quiet whether to show notes only, without progress */
  constructor(state: () => ProgressState, { quiet }: { quiet: boolean }) {
    this.#state = state
    if (quiet) return
    const stream = this.#stream
    this.#sample()
    this.#timer = stream.isTTY
      ? setInterval(() => this.#draw(), REDRAW)
      : setInterval(() => stream.write(`${this.#line()}\n`), LINE)
    this.#timer.unref()
  }

  /** Prints a line that stays, above the bar. */
  note(text: string): void {
    const hadBar = this.#hasBar
    this.#erase()
    this.#stream.write(`${onOneLine(text)}\n`)
    // Draws the bar again at once: frequent notes would otherwise hide it.
    if (hadBar) this.#draw()
  }

  /** Ends the progress and removes the bar. */
  end(): void {
    clearInterval(this.#timer)
    this.#erase()
  }

  #draw(): void {
    const width = this.#stream.columns || 80
    const line = this.#line()
    const { done } = this.#state()
    const full = done === undefined ? '' : `${bar(done)} ${line}`
    // `\r\x1b[K` erases only one line of the terminal.
    this.#stream.write(`\r${(full.length < width && full !== '' ? full : line).slice(0, width - 1)}\x1b[K`)
    this.#hasBar = true
  }

  #erase(): void {
    if (this.#hasBar) this.#stream.write('\r\x1b[K')
    this.#hasBar = false
  }

  #line(): string {
    const { first, last } = this.#sample()
    const seconds = (last.time - first.time) / 1000
    const parts = last.done === undefined ? [] : [`${Math.floor(last.done * 100)}%`]
    if (last.rows !== undefined) parts.push(counted(last.rows, 'plant'))
    if (last.rows !== undefined && seconds > 0) {
      parts.push(`${count(Math.round((last.rows - (first.rows ?? 0)) / seconds))}/s`)
    }
    const share = (last.done ?? 0) - (first.done ?? 0)
    if (last.done !== undefined && share > 0) parts.push(`${formatTime(((1 - last.done) / share) * seconds)} left`)
    return [...(last.doing === undefined ? [] : [last.doing]), ...(parts.length > 0 ? [parts.join(', ')] : [])].join(
      ': ',
    )
  }

  #sample(): { first: ProgressState & { time: number }; last: ProgressState & { time: number } } {
    const last = { ...this.#state(), time: performance.now() }
    // Each part of the work has its own speed.
    if (this.#samples.at(-1)?.doing !== last.doing) this.#samples.length = 0
    this.#samples.push(last)
    while (this.#samples.length > 2 && (this.#samples[0]?.time ?? 0) < last.time - WINDOW) this.#samples.shift()
    return { first: this.#samples[0] ?? last, last }
  }
}

/** Formats a time as `3.2 s`, `4:07` or `1:02:09`. */
export function formatTime(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  const whole = Math.round(seconds)
  const minutes = String(Math.floor(whole / 60) % 60)
  const rest = String(whole % 60).padStart(2, '0')
  return whole < 3600 ? `${minutes}:${rest}` : `${Math.floor(whole / 3600)}:${minutes.padStart(2, '0')}:${rest}`
}

function bar(done: number): string {
  const full = Math.min(BAR_WIDTH, Math.floor(done * BAR_WIDTH))
  return `[${'='.repeat(full)}${' '.repeat(BAR_WIDTH - full)}]`
}

/** Aligns the columns of rows, the first of which is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
