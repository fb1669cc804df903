import type { ActionOptions } from '../../../client/src/index.ts'

/** The most characters of a title that the service stores. */
const MOST = 200

/**
 * Names what a person does together, so that the service lists and undoes it as one. Pages that are served without TLS
 * have no crypto.randomUUID.
 *
 * @param title such as the name of a file
 */
export function newAction(title: string): ActionOptions {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const action = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const text = [...title.replaceAll('\0', ' ').toWellFormed()].slice(0, MOST).join('')
  return text === '' ? { action } : { action, actionTitle: text }
}
