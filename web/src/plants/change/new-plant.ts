import { computed } from '@preact/signals'
import { say } from '../../language/language.ts'
import type { Content } from '../../offline/change.ts'
import { askBeforeLosing } from '../../page/leaving.ts'
import { Kept } from '../../session/kept.ts'

/** The texts of a plant that is not added yet. */
export interface Typed {
  readonly name: string
  readonly tag: string
  /** An id of the person's own; empty: the page takes a free one, or that of the label. */
  readonly id: string
}

export const NOTHING: Typed = { name: '', tag: '', id: '' }

/** Typed texts by the id of the label: a person may scan several in one tab, and come back to each. */
const typed = new Kept<Readonly<Record<string, Typed>>>('plantstore-entered-plants', {})

/** The place of the texts of a plant without a label. */
const NEXT = 'next'

/** @param label the id of the label; undefined: the plant has none */
export const typedFor = (label: bigint | undefined): Typed => typed.value[String(label ?? NEXT)] ?? NOTHING

export function type(label: bigint | undefined, part: Partial<Typed>): void {
  const place = String(label ?? NEXT)
  const { [place]: before = NOTHING, ...others } = typed.value
  const next = { ...before, ...part }
  const isNothing = next.name === '' && next.tag === '' && next.id === ''
  typed.value = isNothing ? others : { ...others, [place]: next }
}

export const contentOf = ({ name, tag }: Typed): Content => (tag === '' ? { name } : { name, tag })

/** Whether the form for a plant without a label has unsaved texts. A tag alone is left from the plant before. */
export const isTyped = (): boolean => typedFor(undefined).id !== '' || typedFor(undefined).name !== ''

/** The ids of plants that the person has typed at their labels, and not added. */
export const entered = computed((): readonly string[] => Object.keys(typed.value).filter((place) => place !== NEXT))

askBeforeLosing(() => (isTyped() ? say('plants.lossNew') : undefined), { isKept: true })
askBeforeLosing(
  () => (entered.value.length === 0 ? undefined : say('plants.lossEntered', { ids: entered.value.join(', ') })),
  { isKept: true },
)
