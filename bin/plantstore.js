#!/usr/bin/env -S node --max-semi-space-size=12
// Every way to start the program takes the flags of Node.js from the line above: bin/plantstore, bin/node.js for scripts
// of npm, and scripts/package/executable.ts. A young generation of 12 MiB is the quickest.
// Only syntax of Node.js 14.8, so that a runtime that is too old for the program prints one line, not a syntax error.
// Node.js 24.15 is the first whose SQLite (3.51.3) has no WAL-reset bug (https://sqlite.org/wal.html#walresetbug).
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
// Later starts read the compiled program from this cache and are ready in half the time. They need no compiler, which
// takes 28 MB, and 12 MB more in each thread. Threads find the cache by the variable. Without write access, the program
// starts without a cache.
const [{ enableCompileCache, flushCompileCache }, { fileURLToPath }] = await Promise.all([
  import('node:module'),
  import('node:url'),
])
if (!process.env.NODE_COMPILE_CACHE) {
  process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/plantstore', import.meta.url))
}
enableCompileCache(process.env.NODE_COMPILE_CACHE)
await import('../src/cli/v8-flags.ts')
if (!isInstalled && program.endsWith('.ts') && process.argv[2] === 'serve') await makePage()
const { main } = await import(program)
await main(process.argv)
// By default Node.js writes the cache when the process ends, and a crash loses it.
flushCompileCache()

/** In a checkout, the page is made of its sources. */
async function makePage() {
  try {
    const { makeBundles } = await import('../scripts/bundles.ts')
    await makeBundles()
  } catch (error) {
    console.error(`plantstore: cannot make the page of web/src ("npm ci" installs what that takes): ${error.message}`)
    process.exit(1)
  }
}
