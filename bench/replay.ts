import type { Scene } from '../test/support/clean-up.ts'
import { followThrough } from '../test/support/follow.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { proveReplay } from '../test/support/replay.ts'
import { type Contender, Running, SHIPPED } from './contender.ts'

const CHANGES = 100_000
const CONNECTIONS = 64
/** Many of the writes are refused, and each refusal is a line of the log. */
const QUIET: Contender = { ...SHIPPED, program: [...SHIPPED.program, '--log-level', 'error'] }

/**
 * Proves at full size what the tests prove at a small one: on both engines, an export and the changes after it make a later
 * export; and followers miss and repeat nothing while the service restarts and is killed.
 */
export async function proveChanges(rounds: number): Promise<void> {
  const server = await PostgresServer.create()
  try {
    for (const [name, store] of [
      ['SQLite', undefined],
      ['PostgreSQL', server.url()],
    ] as const) {
      const service = await Running.start({ ...QUIET, ...(store === undefined ? {} : { store }) })
      const address = { port: service.port, secret: service.token }
      for (let round = 0; round < rounds; round++) {
        const entries = await proveReplay(address, CHANGES, CONNECTIONS, round * 2)
        console.log(`${name}, round ${round + 1}: ${entries} changes applied to an export make a later export`)
      }
      await service.stop()
    }
  } finally {
    await server.close()
  }
  const works: (() => Promise<void> | void)[] = []
  const scene: Scene = { after: (work) => void works.push(work) }
  try {
    const followers = await followThrough(scene, CHANGES)
    console.log(`${followers.join(', ')}: followed ${CHANGES} changes across a restart, a kill and broken connections`)
  } finally {
    for (const work of works.reverse()) await work()
  }
}
