import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { suite, test } from 'node:test'
import { SECRET, withService } from '../support/service.ts'

/**
 * Counts the files of a folder that hold the text. In a process of its own: a process that closes a database file which
 * it also has open as a store drops SQLite's locks (https://sqlite.org/howtocorrupt.html section 2.2).
 */
function filesWith(folder: string, text: string): number {
  const script = `
    const { readdirSync, readFileSync } = require('node:fs')
    const [folder, text] = process.argv.slice(1)
    const files = readdirSync(folder).map((name) => readFileSync(folder + '/' + name))
    console.log(files.filter((bytes) => bytes.includes(text)).length)`
  return Number(execFileSync(process.execPath, ['-e', script, folder, text], { encoding: 'utf8' }))
}

suite('the secret of a token', () => {
  test('is nowhere on the disk and nowhere in the log, whatever becomes of its requests', async (t) => {
    const service = await withService(t, { logLevel: 'debug' })
    const { secret, token } = await service.mint(['plants:write'])
    const { secret: weak } = await service.mint(['plants:read'])
    const expired = await service.mint(['plants:write'], new Date(0))
    const unknown = 'an-unknown-secret-of-somebody'
    const secrets = [secret, weak, expired.secret, unknown, SECRET]
    for (const [id, each] of secrets.entries()) {
      const authorization = `Bearer ${each}`
      await service.create({ id, name: `a plant of ${id}` }, { authorization })
      await service.create('{', { authorization })
      await service.send('GET', `/nowhere?access_token=${each}`, { authorization })
    }
    assert.ok(filesWith(service.folder, token.id) > 0, 'the search finds what is stored')
    assert.ok(service.log.includes(token.id), 'the log has the public name of the token')
    for (const each of secrets) {
      assert.equal(filesWith(service.folder, each), 0)
      assert.ok(!service.log.includes(each))
    }
  })
})
