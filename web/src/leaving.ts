import { computed, effect, signal } from '@preact/signals'

type Loss = () => string | undefined

const sources = signal<readonly Loss[]>([])

/** What the person would lose by leaving now, as phrases that follow "You would lose". */
export const losses = computed(() => sources.value.flatMap((loss) => loss() ?? []))

/**
 * Asks the person before they close the tab, leave the page or sign out, while `loss` returns a text.
 *
 * @param loss reads signals, and runs again when they change
 */
export function askBeforeLosing(loss: Loss): void {
  sources.value = [...sources.value, loss]
}

const isLossy = computed(() => losses.value.length > 0)
const ask = (event: Event) => event.preventDefault()

// The listener exists only while needed: a browser keeps no page that has one in its cache for the Back button.
effect(() => {
  if (!isLossy.value) return undefined
  addEventListener('beforeunload', ask)
  return () => removeEventListener('beforeunload', ask)
})
