/** Registers work for after the test: a test context, or an object like it. */
export interface Scene {
  after(done: () => Promise<void> | void): void
}

const pending = new WeakMap<Scene, (() => Promise<void> | void)[]>()

/** Runs work after the test, last registered first. `after` alone would remove a folder before its server ends. */
export function cleanUp(scene: Scene, work: () => Promise<void> | void): void {
  const known = pending.get(scene)
  if (known !== undefined) {
    known.push(work)
    return
  }
  const works = [work]
  pending.set(scene, works)
  scene.after(async () => {
    for (let next = works.pop(); next !== undefined; next = works.pop()) await next()
  })
}
