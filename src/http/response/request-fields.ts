import type { Exchange } from '../exchange.ts'
import { loggedPath } from './refusal-log.ts'

/** What a line of the log says of a request: no query, no header and no body, which may hold secrets. */
export function requestFields(
  { request, operation, identity, startedAt }: Exchange,
  names: { readonly req: string; readonly trace: string | undefined },
  address: string,
) {
  return {
    ...names,
    operation: operation?.id ?? 'none',
    method: request.method,
    path: loggedPath(request.url),
    token: identity?.actor.id,
    address,
    ms: Math.round((performance.now() - startedAt) * 100) / 100,
  }
}
