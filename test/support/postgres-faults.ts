import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ErrorNumber } from '../../src/domain/errors.ts'
import { cleanUp } from './clean-up.ts'
import type { Load } from './load.ts'
import { plantsOf } from './postgres.ts'
import { PostgresServer } from './postgres-server.ts'
import { type Served, TOKEN } from './process.ts'

/** Starts a server for this test only. */
export async function ownServer(t: TestContext): Promise<PostgresServer> {
  const server = await PostgresServer.create()
  cleanUp(t, () => server.close())
  return server
}

/** Checks that a create gets 50301 with Retry-After. */
export async function assertOutOfReach(address: string): Promise<void> {
  const response = await fetch(`${address}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: '{"id":-1,"name":"a"}',
  })
  const { error } = (await response.json()) as { error: number }
  assert.deepEqual([response.status, error], [503, 50301])
  assert.ok(Number(response.headers.get('retry-after')) >= 1)
}

/**
 * Checks that clients got no refusal except `refusal`, that no acknowledged plant is lost, that the service continues,
 * and that no answer or log line contains the password.
 */
export async function assertKept(
  load: Load,
  { program }: Served,
  url: string,
  refusal: ErrorNumber = 50301,
): Promise<void> {
  await load.stop()
  assert.deepEqual([[...load.refused.keys()], load.broken], [[refusal], []])
  load.assertAllAmong(new Map((await plantsOf(url)).map(({ id, ...plant }) => [id, plant])))
  assert.ok(program.isRunning)
  const { password } = new URL(url)
  assert.notEqual(password, '')
  for (const secret of [password, decodeURIComponent(password)]) {
    assert.ok(!program.stdout.includes(secret) && !program.stderr.includes(secret))
  }
}

export const refusals = (load: Load): number => load.refused.get(50301) ?? 0
