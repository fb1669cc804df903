import { computed, effect, signal } from '@preact/signals'

type Loss = () => string | undefined

interface Source {
  readonly loss: Loss
  readonly isKept: boolean
  readonly isOnDevice: boolean
}

const sources = signal<readonly Source[]>([])
const isReturning = signal(false)

/** What the person would lose by leaving now, as phrases that follow "You would lose". */
export const losses = computed(() => sources.value.flatMap(({ loss }) => loss() ?? []))

/**
 * Asks the person before they close the tab, leave the page or sign out, while `loss` returns a text.
 *
 * @param loss reads signals, and runs again when they change
 * @param isKept whether the tab keeps it while another page is open there
 * @param isOnDevice whether the device keeps it until the person signs out
 */
export function askBeforeLosing(loss: Loss, { isKept = false, isOnDevice = false } = {}): void {
  sources.value = [...sources.value, { loss, isKept, isOnDevice }]
}

/** Goes to a page that leads back to this one in the same tab, and asks only about what the tab does not keep. */
export function leaveForSignIn(url: URL): void {
  isReturning.value = true
  location.assign(url)
}

// The browser may have kept this page, or the person may have stayed.
addEventListener('pageshow', () => {
  isReturning.value = false
})

/** Whether the person would lose something with the tab. */
export const isLossy = computed(() =>
  sources.value.some(
    ({ loss, isKept, isOnDevice }) => !isOnDevice && !(isKept && isReturning.value) && loss() !== undefined,
  ),
)
const ask = (event: Event) => event.preventDefault()

// The listener exists only while needed: a browser keeps no page that has one in its cache for the Back button.
effect(() => {
  if (!isLossy.value) return undefined
  addEventListener('beforeunload', ask)
  return () => removeEventListener('beforeunload', ask)
})
