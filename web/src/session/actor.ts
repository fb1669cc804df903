import { say } from '../language/language.ts'

/** The id of the token that the configuration of the service names. */
const CONFIGURED = 'configured'

/** The name of a token, as people say it. */
export const nameOf = ({ id, name }: { readonly id: string; readonly name: string }): string =>
  id === CONFIGURED ? say('actor.operator') : name

/** Who has made a change: a token by its name where that is known, or the operator by the configured token or a command. */
export const actorOf = (token: string, names: ReadonlyMap<string, string>): string =>
  token === CONFIGURED || token.startsWith('command:') ? say('actor.operator') : (names.get(token) ?? token)
