/**
 * The address of the service that serves this page, without a slash at its end, such as `https://example.org/garden`.
 * Both pages have their files in one folder directly below it.
 */
export const SERVICE = new URL('..', import.meta.url).href.replace(/\/$/, '')

/** The path of that address: empty, or such as `/garden`. */
export const BASE = new URL(SERVICE).pathname.replace(/\/$/, '')

/**
 * The name under which the browser keeps something of this service. Services below several paths of one origin share
 * its storage, its locks and its channels, so each has names of its own.
 */
export const nameHere = (name: string): string => name + BASE
