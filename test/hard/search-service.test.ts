import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { tempFolder } from '../support/files.ts'
import { Load, plantBody, send } from '../support/load.ts'
import { startServer } from '../support/process.ts'
import { scrapeAt } from '../support/scrape.ts'

test('under full load each of 400 searches finds the plant created right before it', async (t) => {
  const { program, address, storePath } = await startServer(t, tempFolder(t))
  const load = new Load(address, { clients: 32 })
  const agent = new Agent({ keepAlive: true })
  let next = 1
  const client = async () => {
    while (next <= 400) {
      const id = next++
      const body = plantBody(BigInt(-id), { name: `Fresh mark${id}`, tag: undefined })
      const { status } = await send('POST', `${address}/plants`, { agent, body })
      assert.equal(status, 200)
      const found = await send('GET', `${address}/plants?q=mark${id}+fresh`, { agent })
      assert.ok(found.body.includes(`{"id":${-id},`), `${id} is not in ${found.body}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, client))
  await load.stop()
  agent.destroy()
  assert.deepEqual([[...load.refused], load.broken], [[], []])
  assert.ok((await scrapeAt(address)).value('plantstore_search_index_behind') !== undefined)
  load.assertAllIn(storePath)
  await program.ends()
})
