import { effect } from '@preact/signals'

/**
 * Has the browser ask before the person leaves the page while `isUnsaved` returns true. `isUnsaved` reads signals, and
 * runs again when they change. The listener exists only meanwhile, because a browser keeps no page that has one in its
 * cache for the Back button.
 *
 * @returns a function that stops asking
 */
export function warnWhile(isUnsaved: () => boolean): () => void {
  const ask = (event: Event) => event.preventDefault()
  return effect(() => {
    if (!isUnsaved()) return undefined
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  })
}
