/**
 * `write`, but what it gives for a frozen subject is remembered as long as that is there: it is frozen because the store
 * gives it again. To remember others would cost more than it could save.
 *
 * @param write depends on its subject, and on more only where each subject comes with the same
 */
export function remembering<Subject extends object, More extends unknown[], Written>(
  write: (subject: Subject, ...more: More) => Written,
): (subject: Subject, ...more: More) => Written {
  const written = new WeakMap<Subject, Written>()
  return (subject, ...more) => {
    if (!Object.isFrozen(subject)) return write(subject, ...more)
    const known = written.get(subject)
    if (known !== undefined) return known
    const text = write(subject, ...more)
    written.set(subject, text)
    return text
  }
}
