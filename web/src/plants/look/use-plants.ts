import { useEffect, useMemo } from 'preact/hooks'
import { onSent } from '../../offline/waiting.ts'
import type { Session } from '../../session/session.ts'
import { PlantChanges } from '../change/changes.ts'
import { follow } from '../list/live.ts'
import { PlantList } from '../list/plant-list.ts'

/** Returns a list that follows the changes of others and what is sent, and what changes its plants, if the token may. */
export function usePlants(session: Session) {
  const { client, may } = session
  const list = useMemo(() => new PlantList(client), [client])
  const changes = useMemo(() => (may('plants:write') ? new PlantChanges(session, list) : undefined), [session, list])
  useEffect(() => () => list.stop(), [list])
  useEffect(() => follow(session, list), [client, list])
  useEffect(() => onSent((id, content) => list.take(id, content)), [list])
  return { list, changes }
}
