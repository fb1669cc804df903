import { type TestContext, test } from 'node:test'
import { type Bounds, emptyService, type Service, withService } from './service.ts'
import { certificate } from './transport.ts'

type Run = (service: Service, t: TestContext) => Promise<void>
/** Adds a test, as `test` of Node.js does, on a service with these settings. */
type AddTest = (title: string, ...args: readonly [run: Run] | readonly [bounds: Bounds, run: Run]) => void

const testOn =
  (open: (t: TestContext, bounds: Bounds) => Promise<Service>): AddTest =>
  (title, ...args) => {
    const [bounds, run] = args.length === 1 ? [{}, args[0]] : args
    test(title, async (t) => run(await open(t, bounds), t))
  }

/** Adds a test on the service of `emptyService`. */
export const onEmpty = testOn((_t, bounds) => emptyService(bounds))

/** Adds a test on a service of its own. */
export const onService = testOn(withService)

/** As `onEmpty`, of what TLS cannot change: it runs in clear text alone. */
export const onClear: AddTest = (title, ...args) => {
  if (certificate() === undefined) onEmpty(title, ...args)
}
