import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isAbort, said } from './said.ts'

/** The work of a request. @param signal ends it */
type Work = (signal: AbortSignal) => Promise<void>

/** What a view asks of the service, and tells of it. */
export interface Request {
  readonly isBusy: ReadonlySignal<boolean>
  /** Why it failed, in words; empty without a fault, and from its next beginning on. */
  readonly fault: Signal<string>
  /** Ends the one under way, and begins. */
  readonly run: (work: Work) => Promise<void>
  /** Begins, unless one is under way. */
  readonly once: (work: Work) => Promise<void>
  readonly stop: () => void
}

/** Returns a request that ends with its view. @param word says for what the reason of a fault is one */
export function useRequest(word: (why: string) => string = (why) => why): Request {
  const isBusy = useSignal(false)
  const fault = useSignal('')
  const ending = useRef(new AbortController())
  const stop = () => ending.current.abort()
  useEffect(() => stop, [])
  const run = async (work: Work) => {
    stop()
    const mine = new AbortController()
    ending.current = mine
    isBusy.value = true
    fault.value = ''
    try {
      await work(mine.signal)
    } catch (error) {
      if (!mine.signal.aborted && !isAbort(error)) fault.value = word(said(error))
    }
    if (ending.current === mine) isBusy.value = false
  }
  const once = async (work: Work) => {
    if (!isBusy.peek()) await run(work)
  }
  return { isBusy, fault, run, once, stop }
}

/**
 * Reads what only helps, such as suggestions, once its question stays the same for a while. Without an answer the view
 * works as well, with what was read before.
 *
 * @param pause milliseconds
 * @param question what makes the hook read again when it changes
 * @param read undefined: there is nothing to read
 */
export function useHelp<Help>(
  pause: number,
  question: readonly unknown[],
  read: ((signal: AbortSignal) => Promise<Help>) | undefined,
): Help | undefined {
  const help = useSignal<Help | undefined>(undefined)
  useEffect(() => {
    const ending = new AbortController()
    const ask = async () => {
      const found = await read?.(ending.signal)
      if (found !== undefined && !ending.signal.aborted) help.value = found
    }
    const timer = setTimeout(() => void ask().catch(() => {}), pause)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, question)
  return help.value
}

/** What a person has typed behind the text that was sent meanwhile: it belongs to the next one. */
export const typedSince = (sent: string, now: string): string => (now.startsWith(sent) ? now.slice(sent.length) : now)
