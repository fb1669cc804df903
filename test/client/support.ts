import { PlantstoreClient } from '../../client/src/index.ts'
import type { ClientOptions } from '../../client/src/options.ts'
import { SECRET, type Service } from '../support/service.ts'

export const urlOf = ({ port }: Service): string => `http://127.0.0.1:${port}`

export const clientOf = (service: Service, options: Partial<ClientOptions> = {}): PlantstoreClient =>
  new PlantstoreClient({ url: urlOf(service), token: SECRET, ...options })

/** Collects all items of an iteration. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
