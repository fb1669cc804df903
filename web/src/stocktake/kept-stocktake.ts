import { effect, signal } from '@preact/signals'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../page/leaving.ts'
import { storedAs } from '../page/stored.ts'
import { onSignOut } from '../session/session.ts'
import { Stocktake } from './stocktake.ts'

const SET = storedAs('plantstore-stocktake')
const FOUND = storedAs('plantstore-stocktake-found')

/** The stocktake in progress on this device, in all tabs that show this service. */
export const stocktake = signal<Stocktake | undefined>(kept())
/** Whether the device keeps it. If it has no room, the tab alone has it. */
export const isKept = signal(true)

function kept(): Stocktake | undefined {
  const [set, found] = [localStorage.getItem(SET), localStorage.getItem(FOUND)]
  return set === null || found === null ? undefined : Stocktake.read({ set, found })
}

export function begin(begun: Stocktake): void {
  isKept.value = keep(FOUND, begun.foundText) && keep(SET, begun.setText)
  stocktake.value = begun
}

export function end(): void {
  stocktake.value = undefined
  localStorage.removeItem(SET)
  localStorage.removeItem(FOUND)
}

effect(() => {
  if (stocktake.value !== undefined && isKept.value) isKept.value = keep(FOUND, stocktake.value.foundText)
})

function keep(key: string, text: string): boolean {
  try {
    localStorage.setItem(key, text)
    return true
  } catch {
    // No room. A part of a stocktake is of no use after a reload.
    localStorage.removeItem(SET)
    return false
  }
}

// Another tab counts, begins or ends.
addEventListener('storage', ({ key, newValue }) => {
  if (key === FOUND && newValue !== null) stocktake.value?.takeFound(newValue)
  else if (key === SET || key === null) stocktake.value = kept()
})
onSignOut(end)

const loss = (): string | undefined => {
  const { value: current } = stocktake
  return current === undefined
    ? undefined
    : say('stocktake.loss', { done: current.thereCount.value, plants: current.ids.length })
}
askBeforeLosing(() => (isKept.value ? loss() : undefined), { isOnDevice: true })
askBeforeLosing(() => (isKept.value ? undefined : loss()))
