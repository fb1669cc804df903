import { Socket } from 'node:net'
import { LastingFault } from '../errors.ts'

const TYPE = 1
const HEAD = 5
const AUTHENTICATION = 'R'.charCodeAt(0)
const CLEAR_TEXT = 3
/** Bytes of an authentication request that the guard reads: the head and the kind. */
const REQUEST = HEAD + 4

/**
 * A socket without TLS that fails when the server asks for the password in clear text: an eavesdropper or a false
 * server could read it. The socket reads the server's messages up to the first authentication request
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html).
 */
export class ClearTextGuard extends Socket {
  constructor() {
    super()
    let unread = Buffer.alloc(0)
    const look = (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk])
      while (unread.length >= REQUEST) {
        if (unread[0] === AUTHENTICATION) {
          this.off('data', look)
          // This listener runs before pg's, so pg sends no password.
          if (unread.readInt32BE(HEAD) === CLEAR_TEXT) this.destroy(new LastingFault(ASKED))
          return
        }
        const end = TYPE + unread.readInt32BE(TYPE)
        if (unread.length < end) return
        unread = unread.subarray(end)
      }
    }
    this.on('data', look)
  }
}

const ASKED =
  'the server asks for the password in clear text, and there is no TLS; ' +
  'set sslmode=verify-full, or scram-sha-256 in its pg_hba.conf'
