import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { PlantstoreClient } from '../../client/src/index.ts'
import { command } from '../support/commands.ts'
import { tempFolder } from '../support/files.ts'
import { PathProxy } from '../support/path-proxy.ts'
import { SECRET, withService } from '../support/service.ts'

const PLANTS = '{"id":1,"name":"Rosa"}\n{"id":2,"name":"Lilium","tag":"bed"}\n'

for (const strips of [true, false]) {
  suite(`below a path of a proxy that ${strips ? 'takes it off' : 'leaves it'},`, () => {
    test('commands and the client work with the address of the service', async (t) => {
      const proxy = await PathProxy.start(t, strips)
      const url = `${proxy.origin}/garden`
      const service = await withService(t, { publicUrl: url })
      proxy.ports.set('/garden', service.port)
      const cwd = tempFolder(t)
      const env = { PLANTSTORE_TOKEN: SECRET }
      writeFileSync(join(cwd, 'plants.ndjson'), PLANTS)
      const imported = await command(['import', 'plants.ndjson', '--url', url], { cwd, env })
      assert.match(imported.stderr, /^done: 2 added, /)
      const exported = await command(['export', 'again.ndjson', '--url', `${url}/`], { cwd, env })
      assert.match(exported.stderr, /^done: 2 plants in /)
      assert.equal(readFileSync(join(cwd, 'again.ndjson'), 'utf8'), PLANTS)
      const status = await command(['status', '--url', url], { cwd, env })
      assert.equal(status.code, 0, status.stderr)

      const client = new PlantstoreClient({ url, token: SECRET })
      await client.createPlant({ id: 3n, name: 'Iris' })
      const names: string[] = []
      for await (const { name } of client.listPlants({ limit: 1 })) names.push(name)
      assert.deepEqual(names, ['Rosa', 'Lilium', 'Iris'])
      const { value: change } = await client.history(3n)[Symbol.asyncIterator]().next()
      assert.deepEqual([change?.type, change?.plant?.name], ['plant.created', 'Iris'])
    })
  })
}
