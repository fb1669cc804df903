import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { ROOT } from '../../../scripts/repository.ts'
import { urlOf } from '../../client/support.ts'
import { PROGRAM, TOUR, tourFrom } from '../../client/tour.ts'
import { hasBrowser, withBrowser } from '../../support/browser.ts'
import type { Scene } from '../../support/clean-up.ts'
import { tempFolder } from '../../support/files.ts'
import { blocksOf } from '../../support/guide.ts'
import { notTestedHere } from '../../support/not-tested.ts'
import { SECRET, withService } from '../../support/service.ts'
import { faultsOfTypes } from './support.ts'

/** Installs the client in a new folder by the lines of its page. */
function install(scene: Scene): string {
  const folder = tempFolder(scene)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const lines = blocksOf('client/README.md').find(({ language }) => language === 'sh')?.text ?? ''
  assert.match(lines, /^npm run --prefix \.\.\/plantstore package -- client$/m)
  // Nothing comes from a registry.
  const env = { ...process.env, npm_config_offline: 'true', npm_config_loglevel: 'error' }
  const script = lines.replaceAll('../plantstore', ROOT)
  execFileSync('sh', ['-e', '-c', script], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
  return folder
}

test('the package of the client works in Node.js, passes the type check, and works in a browser', async (t) => {
  const folder = install(t)
  const installed = join(folder, 'node_modules/plantstore-client')

  await t.test('it is one module without imports and dependencies', () => {
    const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
      dependencies?: object
    }
    assert.equal(dependencies, undefined)
    const found = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))
    assert.deepEqual(found, ['plantstore-client'])
    const module = readFileSync(join(installed, 'dist/plantstore-client.js'), 'utf8')
    assert.doesNotMatch(module, /^\s*import\b|\bimport\(|\bfrom\s*['"]|\brequire\(/m)
    assert.ok(gzipSync(module).length < 10_300, `${gzipSync(module).length} bytes compressed`)
    for (const file of ['LICENSE', 'README.md']) assert.ok(readdirSync(installed).includes(file))
  })

  await t.test('Node.js runs it', async (t) => {
    const service = await withService(t)
    writeFileSync(join(folder, 'tour.js'), tourFrom('plantstore-client'))
    const script = `import { PlantstoreClient } from 'plantstore-client'
import { tour } from './tour.js'
console.log(JSON.stringify(await tour(new PlantstoreClient({ url: '${urlOf(service)}', token: '${SECRET}' }))))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: folder,
    })
    assert.deepEqual(JSON.parse(stdout), TOUR)
  })

  await t.test('its types accept correct calls and refuse wrong ones', () => {
    const check = (file: string, text: string): string => {
      const imports = "import { PlantstoreClient, PlantstoreError } from 'plantstore-client'\n"
      writeFileSync(join(folder, file), imports + text)
      return faultsOfTypes(folder, file)
    }
    assert.equal(check('right.ts', PROGRAM), '')
    const wrong = `export const a = new PlantstoreClient({ url: '' }).getPlant(7)
export const b = (error: PlantstoreError) => error.number === 12345`
    assert.match(check('wrong.ts', wrong), /wrong\.ts\(2,.*'number'.*'bigint'.*wrong\.ts\(3,.*no overlap/s)
  })

  await t.test('a browser runs it on a page of another origin', async (t) => {
    if (!hasBrowser) return notTestedHere(t, 'the client in a browser')
    const files: Readonly<Record<string, readonly [string, string]>> = {
      '/': ['text/html', '<!doctype html><title>x</title>'],
      '/tour.js': ['text/javascript', tourFrom('./plantstore-client.js')],
      '/plantstore-client.js': ['text/javascript', readFileSync(join(installed, 'dist/plantstore-client.js'), 'utf8')],
    }
    const server = createServer(({ url = '' }, response) => {
      const [type, text] = files[url] ?? ['text/plain', '']
      response.writeHead(files[url] === undefined ? 404 : 200, { 'Content-Type': `${type}; charset=utf-8` }).end(text)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const service = await withService(t, { corsOrigins: origin })
    const browser = await withBrowser(t)
    const page = await browser.newPage()
    await page.goto(origin)
    const texts = await page.evaluate(`(async () => {
      const { PlantstoreClient } = await import('/plantstore-client.js')
      const { tour } = await import('/tour.js')
      return await tour(new PlantstoreClient({ url: '${urlOf(service)}', token: '${SECRET}' }))
    })()`)
    assert.deepEqual(texts, TOUR)
  })
})
