import { type FileLock, isLocked, takeLock } from '../../base/file-lock.ts'
import { OperatorError } from '../../base/operator-error.ts'

export const lockOf = (path: string): string => `${path}.lock`

/**
 * Keeps a second service away from a store. Commands do not take the lock, so they work beside a service, except for a
 * restore.
 *
 * @throws OperatorError when another service holds the lock
 */
export function takeServeLock(path: string): FileLock {
  const lock = takeLock(lockOf(path))
  if (lock !== undefined) return lock
  throw new OperatorError(`store ${path}: another service already serves it; stop that service first`)
}

/** Releases the lock, and removes its file if `takeServeLock` has created it. */
export function undoServeLock(lock: FileLock): void {
  if (lock.isNew) lock.remove()
  lock.release()
}

/** Whether another process serves the store now. */
export const isServed = (path: string): boolean => isLocked(lockOf(path))
