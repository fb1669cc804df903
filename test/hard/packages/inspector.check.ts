import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { tempFolder } from '../../support/files.ts'
import { SECRET } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'

/** By npx, because a package that runs an install script is no dependency of the project. */
const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0'

onService('the inspector lists and calls the tools of a service', { mcp: 'on' }, async (service, t) => {
  const folder = tempFolder(t)
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
  const inspect = async (...args: string[]): Promise<Record<string, unknown>> => {
    const target = [`http://127.0.0.1:${service.port}/mcp`, '--transport', 'http']
    const header = ['--header', `Authorization: Bearer ${SECRET}`]
    const all = ['--yes', '--ignore-scripts', INSPECTOR, '--cli', ...target, ...header, '--method', ...args]
    const { stdout } = await promisify(execFile)('npx', all, { cwd: folder, env })
    return JSON.parse(stdout) as Record<string, unknown>
  }
  const { tools } = await inspect('tools/list')
  const names = (tools as { name: string }[]).map(({ name }) => name)
  const expected = 'search_plants get_plant get_history list_tags create_plant update_plant check_import'
  assert.equal(names.join(' '), expected)
  // Without the inner quotes the inspector sends a number, rounded to 9007199254740992.
  const plant = ['--tool-arg', 'id="9007199254740993"', '--tool-arg', 'name=Ginkgo']
  await inspect('tools/call', '--tool-name', 'create_plant', ...plant)
  const ids = (await service.plants()).map(({ id }) => id)
  assert.deepEqual(ids, [9007199254740993n])
})
