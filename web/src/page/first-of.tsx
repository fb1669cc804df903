import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say, sayOf } from '../language/language.ts'
import { Button } from './controls.tsx'

/**
 * Shows the first items of a list that the page has, and further ones when the person asks for them.
 *
 * @param step how many at first, and with each button
 * @returns those to show, the button, and what goes back to the first ones
 */
export function useFirst<Item>(
  all: readonly Item[],
  step: number,
): readonly [readonly Item[], JSX.Element | null, () => void] {
  const most = useSignal(step)
  const left = all.length - most.value
  const more = left > 0 ? <Button text={sayOf('page.showMore', left)} onClick={() => (most.value += step)} /> : null
  const restart = () => {
    most.value = step
  }
  return [all.slice(0, most.value), more, restart]
}

/** Says how many items a list has beyond those that the page shows. */
export const Rest = ({ count }: { readonly count: number }): JSX.Element | null =>
  count > 0 ? <p class="note">{say('page.andMore', { more: count })}</p> : null
