import { say } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import type { Content } from '../../offline/change.ts'

/** What a person does to many plants at once. */
export type ActionKind = 'tag' | 'untag' | 'rename-tag' | 'replace' | 'delete'

/** What the person typed for an action. */
export interface ActionInput {
  readonly tag: string
  /** A text in names, as it is written there. */
  readonly find: string
  readonly put: string
  readonly isCaseIgnored: boolean
}

export const NO_INPUT: ActionInput = { tag: '', find: '', put: '', isCaseIgnored: false }

export const TITLES: Readonly<Record<ActionKind, PlainKey>> = {
  tag: 'bulk.tag',
  untag: 'bulk.untag',
  'rename-tag': 'bulk.renameTitle',
  replace: 'bulk.replaceTitle',
  delete: 'bulk.deleteTitle',
}

/** What the service lists the action as. @param from the tag that it renames @param within what it is a part of */
export function titleOf(kind: ActionKind, { tag, find, put }: ActionInput, from?: string, within?: string): string {
  const renamed = [from ?? '', tag.trim()].join(' → ')
  const what = { tag: tag.trim(), untag: '', 'rename-tag': renamed, replace: `${find} → ${put}`, delete: '' }[kind]
  return [within ?? '', say(TITLES[kind]), what].filter((part) => part !== '').join(': ')
}

/** Whether the person has typed what the action needs. */
export const isReady = (kind: ActionKind, { tag, find }: ActionInput): boolean =>
  kind === 'replace' ? find !== '' : kind === 'tag' || kind === 'rename-tag' ? tag.trim() !== '' : true

/** Returns the plant after the action; null if the action deletes it. */
export function afterAction(kind: ActionKind, { tag, find, put, isCaseIgnored }: ActionInput): After {
  switch (kind) {
    case 'tag':
    case 'rename-tag':
      return ({ name }) => ({ name, tag: tag.trim() })
    case 'untag':
      return ({ name }) => ({ name })
    case 'replace': {
      const found = new RegExp(find.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), isCaseIgnored ? 'gi' : 'g')
      return (plant) => ({ ...plant, name: plant.name.replace(found, () => put) })
    }
    case 'delete':
      return () => null
  }
}

type After = (plant: Content) => Content | null
