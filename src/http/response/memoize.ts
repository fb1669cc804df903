/** One in this many newly written subjects is kept. */
const SAMPLE = 32

/**
 * Memoizes `write` per subject (WeakMap): a store returns the same object again when it serves a plant or a page from
 * its cache. To keep a subject costs 0.5 µs, as much as to write a plant, so only a sample of them is kept: subjects
 * that come again and again are soon among it, and those that come once pay 0.1 µs.
 *
 * @param write depends on its subject, and on the rest only where each subject comes with the same
 */
export function memoize<Subject extends object, Rest extends unknown[], Written>(
  write: (subject: Subject, ...rest: Rest) => Written,
): (subject: Subject, ...rest: Rest) => Written {
  const kept = new WeakMap<Subject, Written>()
  let writes = 0
  return (subject, ...rest) => {
    const known = kept.get(subject)
    if (known !== undefined) return known
    const written = write(subject, ...rest)
    if (++writes % SAMPLE === 0) kept.set(subject, written)
    return written
  }
}
