import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempFolder } from './support/files.ts'
import { notTestedHere, runs } from './support/not-tested.ts'
import { run } from './support/process.ts'

test('bash completes commands, flags, their values and files', async (t) => {
  const { stdout, code } = await run(t, ['completion', 'bash'])
  assert.equal(code, 0)
  if (!runs('bash', '--version')) return notTestedHere(t, 'the completion of bash, because there is none')
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'plants.csv'), '')
  const complete = (...words: string[]): string[] => {
    const script = `${stdout}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plantstore; printf '%s\\n' "\${COMPREPLY[@]}"`
    const said = execFileSync('bash', ['-c', script, 'bash', 'plantstore', ...words], { cwd: folder, encoding: 'utf8' })
    return said.trim().split('\n')
  }
  assert.deepEqual(complete('im'), ['import'])
  assert.deepEqual(complete('token', ''), ['create', 'list', 'revoke', 'help', '--help'])
  assert.deepEqual(complete('token', 'create', '--na'), ['--name'])
  assert.deepEqual(complete('serve', '--port'), ['--port'])
  assert.deepEqual(complete('import', '--mode', ''), ['add', 'update'])
  assert.deepEqual(complete('import', 'pl'), ['plants.csv'])
  assert.deepEqual(complete('serve', '--config', 'pl'), ['plants.csv'])
  assert.deepEqual(complete('serve', '--port', ''), [''])
})

test('zsh and fish parse their scripts', async (t) => {
  for (const [shell, check] of [
    ['zsh', ['-n']],
    ['fish', ['--no-execute']],
  ] as const) {
    const { stdout, code } = await run(t, ['completion', shell])
    assert.equal(code, 0)
    for (const word of ['serve', 'print-config', 'even-last', 'add update'])
      assert.ok(stdout.includes(word), `${shell}: ${word}`)
    if (!runs(shell, '--version')) {
      notTestedHere(t, `the completion of ${shell}, because there is none`)
      continue
    }
    const file = join(tempFolder(t), 'script')
    writeFileSync(file, stdout)
    const { status, stderr } = spawnSync(shell, [...check, file], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
  }
})

test('plantstore completion refuses an unknown shell', async (t) => {
  const { code, stderr, stdout } = await run(t, ['completion', 'tcsh'])
  assert.match(stderr, /^plantstore: "tcsh" is not one of bash, zsh, fish\n$/)
  assert.deepEqual([code, stdout], [2, ''])
})
