import type { TestContext } from 'node:test'

const pending = new WeakMap<TestContext, (() => Promise<void> | void)[]>()

/** Runs work after the test, last registered first. `t.after` alone would remove a folder before its server ends. */
export function cleanUp(t: TestContext, work: () => Promise<void> | void): void {
  const known = pending.get(t)
  if (known !== undefined) {
    known.push(work)
    return
  }
  const works = [work]
  pending.set(t, works)
  t.after(async () => {
    for (let next = works.pop(); next !== undefined; next = works.pop()) await next()
  })
}
