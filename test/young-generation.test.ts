import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'

const ROOT = new URL('../', import.meta.url)
const PLACES = ['package.json', 'bin/*', 'packaging/**/*.*', 'packaging/**/Dockerfile', '{scripts,bench,test}/**/*.ts']

/** The sizes of the young generation by file: of a process as it starts, or of threads that it starts later. */
function sizesOf(pattern: RegExp): Map<string, string> {
  const files = globSync(PLACES, { cwd: ROOT, exclude: ['test/young-generation.test.ts'] })
  const found = files.flatMap((file): [string, string][] => {
    const size = pattern.exec(readFileSync(new URL(file, ROOT), 'utf8'))?.[1]
    return size === undefined ? [] : [[file, size]]
  })
  return new Map(found)
}

test('every way to start the service gives its main thread the same young generation, and its threads the same', () => {
  const ofThreads = sizesOf(/setFlagsFromString\('--max-semi-space-size=(\d+)'\)/)
  const ofProcess = sizesOf(/(?<!setFlagsFromString\(')--max-semi-space-size=(\d+)/)
  assert.equal(new Set(ofThreads.values()).size, 1, JSON.stringify([...ofThreads]))
  assert.equal(new Set(ofProcess.values()).size, 1, JSON.stringify([...ofProcess]))
  const shipped = ['package.json', 'plantstore', 'plantstore.js', 'executable.ts']
  const found = [...ofProcess.keys()].map((file) => basename(file))
  assert.deepEqual(
    shipped.filter((name) => !found.includes(name)),
    [],
  )
  assert.deepEqual([...ofThreads.keys()].sort(), ['bin/plantstore.js', 'packaging/executable/main.ts'])
})
