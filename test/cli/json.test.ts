import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { command } from '../support/commands.ts'
import { tempFolder } from '../support/files.ts'

test('commands that import, export, copy and revoke print their result as JSON alone', async (t) => {
  const folder = tempFolder(t)
  const store = `sqlite:${join(folder, 'plants.db')}`
  const asked = (...args: string[]) => command(args, { cwd: folder, env: { PLANTSTORE_STORE: store } })
  const json = async (code: number, ...args: string[]): Promise<unknown> => {
    const done = await asked(...args, '--json')
    assert.equal(done.code, code, done.stderr)
    assert.doesNotMatch(done.stderr, /^done: /m)
    return JSON.parse(done.stdout)
  }
  writeFileSync(join(folder, 'a.csv'), 'id,name\n1,Fern\n1,Moss\n2,Ivy\n')
  const message = 'the id 1 belongs to a different plant; nothing was changed'
  const counts = { added: 2, updated: 0, unchanged: 0, refused: 1 }
  const refusedRows = [{ line: 3, error: 40901, message }]
  assert.deepEqual(await json(1, 'import', 'a.csv'), { dryRun: false, ...counts, refusedRows })
  const file = 'b.ndjson'
  assert.deepEqual(await json(0, 'export', file), { file, format: 'ndjson', gzip: false, plants: 2 })
  assert.equal(readFileSync(join(folder, file), 'utf8'), '{"id":1,"name":"Fern"}\n{"id":2,"name":"Ivy"}\n')
  const none = { added: 0, updated: 0, unchanged: 2, refused: 0, refusedRows: [] }
  assert.deepEqual(await json(0, 'import', file, '--dry-run'), { dryRun: true, ...none })
  const { stdout } = await asked('token', 'create', '--name', 'x', '--json')
  const { id } = JSON.parse(stdout) as { id: string }
  const to = `sqlite:${join(folder, 'copy.db')}`
  const { checksum, ...copied } = (await json(0, 'copy', '--from', store, '--to', to)) as Record<string, unknown>
  assert.match(String(checksum), /^[0-9a-f]{32}$/)
  const added = { added: 2, unchanged: 0, refused: 0, tokens: 1, revoked: 0 }
  assert.deepEqual(copied, { from: store, to, plants: 2, ...added })
  assert.deepEqual(await json(0, 'token', 'revoke', id), { revoked: id })
  const wrong = await asked('export', '-', '--format', 'csv', '--json')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /--json: standard output gets the plants; name a file/)
})
