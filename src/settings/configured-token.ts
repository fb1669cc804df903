import { TOKEN_PREFIX } from '../domain/token.ts'

/** The use of a token. `client`: sent to a service; `server`: accepted by a service, with all scopes. */
export type TokenUse = 'client' | 'server'

const MIN_LENGTH = 16
const MIN_DISTINCT = 8

/**
 * Reads the token of the configuration. The characters are those that a bearer token may have (RFC 6750 section 2.1).
 *
 * @throws Error with a message that never holds the token
 */
export function readConfiguredToken(given: string, use: TokenUse): string {
  if (!/^[A-Za-z0-9._~+/-]+=*$/.test(given))
    throw new Error('may hold only letters, digits and -._~+/ with = at its end')
  if (use === 'client') return given
  if (given.startsWith(TOKEN_PREFIX)) throw new Error(CLIENT_TOKEN_FAULT)
  if (given.length < MIN_LENGTH) throw new Error(`must have at least ${MIN_LENGTH} characters`)
  if (isWeak(given)) throw new Error(WEAK_TOKEN_FAULT)
  return given
}

const CLIENT_TOKEN_FAULT = `begins with ${TOKEN_PREFIX}, like the tokens of "plantstore token create". Such a token works without this setting and would get all scopes here. Leave it out of the environment of serve, or set a secret of your own`
const WEAK_TOKEN_FAULT = `is easy to guess: it needs ${MIN_DISTINCT} different characters, in no pattern; "openssl rand -hex 32" creates a good one`

/** Whether a text has few different characters, repeats one piece, or mostly counts up or down (`3456`, `dcba`). */
function isWeak(text: string): boolean {
  if (new Set(text).size < MIN_DISTINCT) return true
  // A text that repeats a piece, such as `abab`, occurs in its double before the second copy begins.
  if (`${text}${text}`.indexOf(text, 1) < text.length) return true
  const codes = Array.from(text, (character) => character.charCodeAt(0))
  const steps = codes.slice(1).filter((code, i) => Math.abs(code - (codes[i] ?? 0)) <= 1)
  return steps.length * 2 > codes.length
}
