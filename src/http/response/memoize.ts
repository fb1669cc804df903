/**
 * Memoizes `write` per subject (WeakMap), from the second call with a subject: a store returns the same array again
 * when it serves a page from its cache. Keeping the texts of subjects that come once would cost 1 µs each and save
 * nothing.
 *
 * @param write depends on its subject, and on the rest only where each subject comes with the same
 */
export function memoize<Subject extends object, Rest extends unknown[], Written>(
  write: (subject: Subject, ...rest: Rest) => Written,
): (subject: Subject, ...rest: Rest) => Written {
  const givenOnce = new WeakSet<Subject>()
  const written = new WeakMap<Subject, Written>()
  return (subject, ...rest) => {
    const known = written.get(subject)
    if (known !== undefined) return known
    const text = write(subject, ...rest)
    if (givenOnce.has(subject)) written.set(subject, text)
    else givenOnce.add(subject)
    return text
  }
}
