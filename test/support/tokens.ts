import assert from 'node:assert/strict'
import type { Scope } from '../../src/domain/token.ts'
import type { Answer, Sending, Service } from './service.ts'
import { until } from './until.ts'

/** An idempotency key. */
export const KEY = '8e03978e-40d5-43e8-bc93-6894a57f9324'
export const withKey = (key: string): Sending => ({ headers: { 'Idempotency-Key': key } })

/** The body of a token that may read plants. */
export const NEW = { name: 'label printer', scopes: ['plants:read'] }
/** The body of a token that may create tokens. */
export const MANAGER = { name: 'manager', scopes: ['tokens'] }

export interface Created {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly part?: readonly string[]
  readonly createdAt: string
  readonly expiresAt?: string
  readonly secret: string
}

/** Sends a body to createToken: a text unchanged, anything else as JSON. */
export const createToken = (service: Service, body: unknown, sending?: Sending): Promise<Answer> =>
  service.sendJson('POST', '/tokens', body, sending)

export async function createdToken(service: Service, body: unknown, sending?: Sending): Promise<Created> {
  const answer = await createToken(service, body, sending)
  assert.equal(answer.status, 201, answer.body)
  return answer.json as Created
}

export const as = (secret: string): Sending => ({ authorization: `Bearer ${secret}` })

export const revoke = (service: Service, id: string, sending?: Sending): Promise<Answer> =>
  service.send('DELETE', `/tokens/${id}`, sending)

/** Waits until the service refuses a revoked token, at most a second. */
export async function untilRefused(service: Service, secret: string): Promise<void> {
  const own = () => service.send('GET', '/tokens/self', as(secret))
  await until(async () => (await own()).status === 401, 'the service accepts the token on')
}

/** Revokes a token, and waits until the service refuses it. */
export async function lockOut(
  service: Service,
  { secret, token }: { secret: string; token: { id: string } },
): Promise<void> {
  await revoke(service, token.id)
  await untilRefused(service, secret)
}
