import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../scripts/repository.ts'
import { tempFolder } from './support/files.ts'

test('a checkout makes the bundles of the page where one is missing or a source is newer', (t) => {
  const folder = tempFolder(t)
  for (const part of ['client/src', 'scripts', 'src', 'web/src', 'web/worker', 'package.json', 'package-lock.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const made = () => {
    execFileSync(process.execPath, [join(folder, 'scripts/bundles.ts')])
    return statSync(join(folder, 'web/dist/page.js')).ino
  }
  const first = made()
  assert.equal(made(), first, 'nothing changed')

  writeFileSync(join(folder, 'web/src/page/theme.css'), '.changed { color: red }')
  const second = made()
  assert.notEqual(second, first)
  assert.match(readFileSync(join(folder, 'web/dist/page.css'), 'utf8'), /\.changed/)

  rmSync(join(folder, 'client/dist/plantstore-client.js'))
  assert.notEqual(made(), second)
  assert.match(readFileSync(join(folder, 'client/dist/plantstore-client.js'), 'utf8'), /createPlant/)
})
