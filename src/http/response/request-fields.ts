import type { Exchange } from '../exchange.ts'
import { loggedPath } from './refusal-log.ts'

/** The fields of a request in the log. Its query, headers and body are left out, as they may hold secrets. */
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
