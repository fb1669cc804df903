#!/usr/bin/env node
// Runs on any Node from 14.8 on, so that a runtime that can't run the program is told so in one line.
// Node 24.15 is the first with a SQLite (3.51.3) that is free of the WAL-reset bug (https://sqlite.org/wal.html#walresetbug).
const atLeast = (version, wanted) => {
  const have = String(version).split('.').map(Number)
  const want = wanted.split('.').map(Number)
  for (let i = 0; i < 3; i++) if (have[i] !== want[i]) return have[i] > want[i]
  return true
}

const isInstalled = import.meta.url.includes('/node_modules/')
const program = '../src/cli/main.ts'
const { node, sqlite } = process.versions
if (!atLeast(node, '24.15.0') || !atLeast(sqlite || '0.0.0', '3.51.3')) {
  console.error(
    `plantstore needs Node.js 24.15 or newer with SQLite 3.51.3 or newer; this is Node.js ${node} with SQLite ${sqlite || 'none'}.${
      isInstalled ? '' : ' Run it through npm ("npm ci", then "npm start"), which brings its own Node.js.'
    }`,
  )
  process.exit(2)
}
if (isInstalled && program.endsWith('.ts')) {
  console.error(
    'plantstore: this package has the sources, which Node.js does not run in node_modules; "npm run package" in the project makes one that starts.',
  )
  process.exit(2)
}
// Later starts find the compiled program here and are ready in half the time; a folder that can't be written is no fault.
// The variable has threads find it too. What does so needs no compiler, which takes 28 MB, and 12 MB more in each thread.
const [{ enableCompileCache, flushCompileCache }, { fileURLToPath }, { setFlagsFromString }] = await Promise.all([
  import('node:module'),
  import('node:url'),
  import('node:v8'),
])
if (!process.env.NODE_COMPILE_CACHE) {
  process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/plantstore', import.meta.url))
}
enableCompileCache(process.env.NODE_COMPILE_CACHE)
// A heap would else grow to three times what it holds before it is cleared. The second is for threads, whose own limits
// the flag of npm start takes the place of: what they hold is short-lived, and more room makes them no faster.
setFlagsFromString('--heap-growing-percent=30')
setFlagsFromString('--max-semi-space-size=2')
// V8 makes objects in the old generation where most of their kind lived long for a while. An object of one request that
// it takes for such a kind keeps that request alive, dead as it is, until the old generation is cleared: in half of the
// runs reads fell to 0.65 of their speed, and the old generation was cleared ten times as often.
setFlagsFromString('--no-allocation-site-pretenuring')
const { main } = await import(program)
await main(process.argv)
// Else it is written when the process ends, and is lost where that is by a crash.
flushCompileCache()
