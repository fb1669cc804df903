import { writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** A name whose normalising takes minutes in the threads of a program that imports this module. */
export const LONG_NAME = 'Órchid of long normalising'

/** Marks of two classes in turn, which NFKD sorts by insertion: no signal or message interrupts the call. */
const MARKS = '\u0323\u0301'.repeat(500_000)

if (!isMainThread) {
  const { normalize } = String.prototype
  String.prototype.normalize = function (form?: string) {
    if (this.includes('of long normalising')) {
      // The thread's own console would write only between two turns.
      writeSync(2, 'the search index is in a long call\n')
      normalize.call(MARKS, 'NFKD')
    }
    return normalize.call(this, form)
  }
}
