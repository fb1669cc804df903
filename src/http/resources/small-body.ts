import { AppError } from '../../domain/errors.ts'
import { readJsonBody } from '../../json/body.ts'

/** Bytes. No such body needs more, and JSON.parse takes long for a body of many members. */
const MAX_BODY = 16 * 1024

export interface SmallBody<Member extends string> {
  readonly members: Readonly<Partial<Record<Member, unknown>>>
  /** The faults so far. The caller adds those of the members. */
  readonly faults: string[]
}

/**
 * Reads the body of an operation that takes a short object. An unknown member is a fault: to ignore a mistyped name
 * would change the meaning of the request.
 *
 * @throws AppError 40001 for invalid JSON, 40002 where the body is no object, 41301 when it exceeds MAX_BODY
 */
export function readSmallBody<Member extends string>(
  body: Buffer,
  nestingLimit: number,
  known: readonly Member[],
): SmallBody<Member> {
  if (body.length > MAX_BODY) {
    throw new AppError(41301, 'the body is larger than the 16 KiB that this operation takes')
  }
  if (!readJsonBody(body, nestingLimit).isObject) throw new AppError(40002, 'the body must be an object')
  const members = JSON.parse(body.toString()) as Readonly<Partial<Record<Member, unknown>>>
  const unknown = Object.keys(members).filter((member) => !known.some((name) => name === member))
  if (unknown.length === 0) return { members, faults: [] }
  // A long or strange name may be a misplaced secret, so the message leaves it out.
  const shown = unknown.filter((member) => /^\w{1,30}$/.test(member)).slice(0, 5)
  const names = shown.length === 0 ? '' : ` ${shown.join(', ')}`
  return { members, faults: [`unknown member${names}; this operation has ${known.join(', ')}`] }
}
