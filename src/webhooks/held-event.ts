import type { ChangeEntry, ChangeType } from '../domain/changes.ts'
import { eventBody, type HeldEvent, type WebhookBody } from '../domain/webhook.ts'

/** What a receiver gets for an event. */
export interface Message {
  readonly id: string
  readonly type: ChangeType
  readonly body: string
}

/** An event in memory. */
export interface Held extends Omit<HeldEvent, 'attempts' | 'due'> {
  attempts: number
  due: number
  isUnderWay: boolean
  /** Bytes of the body; 0 where nobody read it yet. */
  size: number
  /** Of them, those that are taken from the share. */
  taken: number
  /** Undefined while the event is only in the log. */
  message: Message | undefined
}

/** An event that the store knew. */
export const restored = (event: HeldEvent): Held => ({
  ...event,
  isUnderWay: false,
  size: 0,
  taken: 0,
  message: undefined,
})

/** @param after the position after which a read of the log finds the entry */
export const heldEvent = (entry: ChangeEntry, after: string): Held =>
  restored({ after, plant: plantIn(entry), time: entry.time, attempts: 0, due: 0 })

export const messageOf = (entry: ChangeEntry, form: WebhookBody): Message => ({
  id: entry.position,
  type: entry.type,
  body: eventBody(form, entry),
})

/** The id of the plant that an entry is about. */
export const plantIn = ({ plant, before }: ChangeEntry): string => String((plant ?? before)?.id)
