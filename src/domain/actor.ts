/** Who asks for a write. */
export interface Actor {
  /** The id of an access token, which begins with `tok_`, or one of the ids below. The log of changes keeps it. */
  readonly id: string
  /** The name of the token. */
  readonly name: string
}

/** The token that the configuration of the service names. */
export const CONFIGURED_TOKEN: Actor = { id: 'configured', name: 'PLANTSTORE_TOKEN' }

/** The actor of a command that opens the store itself, by its rights to the file or the database, without a token. */
export const commandActor = (command: 'import' | 'copy' | 'token' | 'restore' | 'serve'): Actor => ({
  id: `command:${command}`,
  name: `plantstore ${command}`,
})
