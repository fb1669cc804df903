import { AppError } from '../../errors.ts'
import type { Store } from '../../store.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import type { ServiceState } from '../service-state.ts'

/** How long the outcome of a check is used again, in ms, so that anybody's probes cost one write a second at most. */
const FRESH = 1000

/** Whether the service is well, for supervisors and load balancers. */
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
