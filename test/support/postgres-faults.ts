import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorNumber } from '../../src/errors.ts'
import { cleanUp } from './clean-up.ts'
import { type Load, send } from './load.ts'
import { plantsOf } from './postgres.ts'
import { PostgresServer } from './postgres-server.ts'
import type { Served } from './process.ts'

/** A server that only this test has. */
export async function ownServer(t: TestContext): Promise<PostgresServer> {
  const server = await PostgresServer.create()
  cleanUp(t, () => server.close())
  return server
}

/** Nobody was told anything but `refusal` in all that happened, and nothing acknowledged was lost. */
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
}

/** Asked until the answer is this one; the outcome of a readiness check is used for a second. */
export async function ready(address: string, status: number): Promise<void> {
  while ((await send('GET', `${address}/health/ready`)).status !== status) await sleep(50)
}

export const refusals = (load: Load): number => load.refused.get(50301) ?? 0
