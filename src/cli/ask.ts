import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { abortOnSignal } from './signals.ts'

/** Whether somebody at a terminal can read a question and answer it. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

/** Asks a question of yes or no. Anything but `y` and `yes` is a no. */
export async function ask(question: string): Promise<boolean> {
  const stop = abortOnSignal()
  using lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    const [answer] = await Promise.race([
      lines.question(question, { signal: stop }).then((line) => [line]),
      once(lines, 'close').then(() => ['']),
    ])
    return /^y(es)?$/i.test(answer?.trim() ?? '')
  } catch (error) {
    stop.throwIfAborted()
    throw error
  }
}
