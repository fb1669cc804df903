import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { sayWith } from '../language/say-with.ts'
import { actorOf } from './actor.ts'
import { onSignOut, session } from './session.ts'

/** Tokens of one request, the most that the service gives. Beyond them, ids do. */
const MOST_NAMED = 1000

/** The names of tokens by their ids; empty before they are read. */
const names = signal<ReadonlyMap<string, string>>(new Map())

onSignOut(() => {
  names.value = new Map()
})

/** Says who has made a change: by name where the token is the person's own, or where they may list tokens. */
export function By({ token }: { readonly token: string }): JSX.Element {
  useEffect(() => void readNames(), [])
  return <>{sayWith('history.by', { token: <bdi translate={false}>{actorOf(token, names.value)}</bdi> })}</>
}

async function readNames(): Promise<void> {
  const { value: current } = session
  if (current.kind !== 'signed-in' || names.value.has(current.own.id)) return
  const { client, own, may } = current
  names.value = new Map([[own.id, own.name]])
  if (!may('tokens') || own.part !== undefined) return
  try {
    const { items } = await client.listTokens({ limit: MOST_NAMED }).page()
    if (session.value === current) names.value = new Map([...items, own].map(({ id, name }) => [id, name]))
  } catch {
    // The ids stand for the names.
  }
}
