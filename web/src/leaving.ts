import { effect } from '@preact/signals'

/**
 * Has the browser ask before the tab is closed or left, while `isUnsaved` is true of the signals that it reads. The
 * listener goes with the reason: browsers keep no page with one for the way back.
 *
 * @returns a function that ends this
 */
export function warnWhile(isUnsaved: () => boolean): () => void {
  const ask = (event: Event) => event.preventDefault()
  return effect(() => {
    if (!isUnsaved()) return undefined
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  })
}
