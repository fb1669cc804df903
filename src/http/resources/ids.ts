import { createHash } from 'node:crypto'
import { AppError } from '../../domain/errors.ts'
import { type IdRange, MAX_PROPOSED } from '../../domain/id-store.ts'
import type { Store } from '../../domain/store.ts'
import type { Admission } from '../admission/admission.ts'
import type { Exchange } from '../exchange.ts'
import type { OperationBodies } from '../operations.generated.ts'
import { keyIn } from '../request/parameters.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import { readSmallBody } from './small-body.ts'

const MEMBERS = ['count'] as const satisfies readonly (keyof OperationBodies['reserveIds'])[]
const MAX_COUNT = 10_000
const HEADERS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store']

/** The operations that propose and reserve ids. */
export function idHandlers(
  { ids }: Store,
  responder: Responder,
  admission: Admission,
  nestingLimit: number,
): Pick<Handlers, 'proposeId' | 'reserveIds'> {
  const refuse = (exchange: Exchange) => (error: unknown) => responder.refuse(exchange, error)

  return {
    proposeId(exchange) {
      admission
        .during('search', exchange, () => ids.proposeId())
        .then((next) => {
          if (next === undefined) throw noFreeRange()
          // JSON.stringify takes no bigint.
          responder.reply(exchange, 200, [...HEADERS], `{"next":${next}}`)
        })
        .catch(refuse(exchange))
    },

    reserveIds(exchange, parameters, body) {
      const count = parseCount(body, nestingLimit)
      const { actor } = exchange
      const key = keyIn(parameters)
      const hash = key === undefined ? undefined : createHash('sha256').update(`${actor.id}\n${key}`).digest()
      let reserved: IdRange | undefined
      exchange.change = {
        outcome: 'reserved',
        details: () => ({ first: reserved?.first.toString(), last: reserved?.last.toString() }),
      }
      admission
        .during('change', exchange, () => ids.reserveIds(count, hash, actor))
        .then((range) => {
          if (range === undefined) throw noFreeRange()
          const { first, last } = range
          if (last - first + 1n !== BigInt(count)) {
            throw new AppError(40902, `the Idempotency-Key belongs to a range of ${last - first + 1n} ids`)
          }
          reserved = range
          responder.reply(exchange, 200, [...HEADERS], `{"first":${first},"last":${last}}`)
        })
        .catch(refuse(exchange))
    },
  }
}

const noFreeRange = (): AppError =>
  new AppError(40905, `the ids up to ${MAX_PROPOSED} have no free range after those in use; choose ids yourself`)

/** @throws AppError as readSmallBody does, and 40002 that names every fault */
function parseCount(body: Buffer, nestingLimit: number): number {
  const { members, faults } = readSmallBody(body, nestingLimit, MEMBERS)
  const { count } = members
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MAX_COUNT) {
    if (faults.length === 0) return count
  } else {
    faults.push(`count ${count === undefined ? 'is required' : `must be an integer from 1 to ${MAX_COUNT}`}`)
  }
  throw new AppError(40002, faults.join('; '))
}
