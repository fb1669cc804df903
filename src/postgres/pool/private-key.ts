import { statSync } from 'node:fs'
import { OperatorError } from '../../base/operator-error.ts'

/**
 * Refuses the file of a private key that others can read, by the rule of PostgreSQL's own clients
 * (https://www.postgresql.org/docs/current/libpq-ssl.html): at most 0600, or 0640 where root owns it.
 *
 * @throws OperatorError
 */
export function mustBePrivate(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  // Windows has no such modes. The read of a missing file fails later.
  if (stat === undefined || process.platform === 'win32') return
  if (!stat.isFile()) throw new OperatorError(`the key ${path} is not a file`)
  if ((stat.mode & (stat.uid === 0 ? 0o037 : 0o077)) === 0) return
  throw new OperatorError(
    `the key ${path} is accessible to other users; its mode must be 0600, or 0640 if root owns it`,
  )
}
