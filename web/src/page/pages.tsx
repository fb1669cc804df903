import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Listing } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { Button } from './controls.tsx'
import { useRequest } from './request.ts'
import { isRefusal } from './said.ts'

/**
 * Reads a list of the log of changes, page by page: returns what reads it anew, what it has read, the button for the next
 * page, why none came, and whether the service keeps no log.
 *
 * @param again what makes the hook read from the first page again when it changes
 */
export function usePages<Item>(list: (signal: AbortSignal) => Pick<Listing<Item>, 'page'>, again?: unknown) {
  /** undefined: not read yet. */
  const items = useSignal<readonly Item[] | undefined>(undefined)
  const next = useSignal<string | undefined>(undefined)
  const isOff = useSignal(false)
  const request = useRequest((why) => say('page.unread', { why }))
  const read = (at?: string): Promise<void> =>
    request.run(async (signal) => {
      try {
        const page = await list(signal).page(at)
        items.value = at === undefined ? page.items : [...(items.value ?? []), ...page.items]
        next.value = page.next
      } catch (error) {
        if (!isRefusal(error, 40401)) throw error
        isOff.value = true
      }
    })
  useEffect(() => void read(), [again])
  const more =
    next.value === undefined ? null : <Button text={say('page.showMore')} onClick={() => void read(next.value)} />
  return [() => read(), items.value, more, request.fault.value, isOff.value] as const
}
