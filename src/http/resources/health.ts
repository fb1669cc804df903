import { AppError } from '../../errors.ts'
import type { Store } from '../../store.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import type { ServiceState } from '../service-state.ts'

/** How long the result of a check is reused, in ms. Probes cost at most one write a second. */
const FRESH = 1000

/** Liveness and readiness, for supervisors and load balancers. */
export function healthHandlers(
  store: Store,
  responder: Responder,
  state: ServiceState,
): Pick<Handlers, 'getLiveness' | 'getReadiness'> {
  let checkedAt = Number.NEGATIVE_INFINITY
  let check: Promise<unknown> = Promise.resolve()

  function checkStore(): Promise<unknown> {
    if (performance.now() - checkedAt > FRESH) {
      checkedAt = performance.now()
      check = Promise.all([store.checkWritable(), store.checkSearchable()])
    }
    return check
  }

  return {
    getLiveness(exchange) {
      responder.reply(exchange, 200, ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'], '{"status":"live"}')
    },
    getReadiness(exchange) {
      if (state.current !== 'serving') throw new AppError(50303, 'the service is shutting down')
      checkStore().then(
        () =>
          responder.reply(
            exchange,
            200,
            ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'],
            '{"status":"ready"}',
          ),
        (error: unknown) => responder.refuse(exchange, error),
      )
    },
  }
}
