import { say } from '../language/language.ts'

/** The id of the token that the configuration of the service names. */
const CONFIGURED = 'configured'

/** The name that the first start of a service gives its token. */
const FIRST = 'operator'

/** The name of a token, as people say it. */
export const nameOf = ({ id, name }: { readonly id: string; readonly name: string }): string =>
  id === CONFIGURED || name === FIRST ? say('actor.operator') : name

/** Who has made a change: a token by its name where that is known, or the operator by the configured token or a command. */
export const actorOf = (token: string, names: ReadonlyMap<string, string>): string =>
  nameOf({ id: token.startsWith('command:') ? CONFIGURED : token, name: names.get(token) ?? token })
