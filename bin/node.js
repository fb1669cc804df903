// Runs the Node.js that `npm ci` installed: `node bin/node.js FLAGS FILE`. npm 11 links it as node_modules/.bin/node. npm 10
// removes this link again, with the packages for other systems: they have a program of the same name.
// Only syntax of Node.js 14.8, because the Node.js of the machine runs this.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const isWindows = process.platform === 'win32'
const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// npm installs the one package that fits the system. Without one, the program says what it needs.
const path = Object.keys(optionalDependencies)
  .map((name) => join(root, 'node_modules', name, 'bin', isWindows ? 'node.exe' : 'node'))
  .find((each) => existsSync(each))
if (path !== undefined && !isWindows) makeLink(path)
run(path || process.execPath)

/** Makes the link for `npx node`. Others may make it at the same time, or forbid it. */
function makeLink(target) {
  const bin = join(root, 'node_modules/.bin')
  try {
    mkdirSync(bin, { recursive: true })
    symlinkSync(target, join(bin, 'node'))
  } catch {}
}

/** Runs Node.js in the place of this process, as far as signals and the exit code tell. */
function run(node) {
  const env = { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) }
  const args = process.argv.slice(2)
  const child = spawn(node, [...flagsOf(args[0]), ...args], { stdio: 'inherit', env })
  // A terminal sends SIGINT to all of its processes.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('error', (error) => {
    console.error(`cannot run ${node}: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code === null ? 128 + constants.signals[signal] : code
  })
}

/** The flags in the first line of a program, such as that of bin/plantstore.js. */
function flagsOf(file) {
  const found = existsSync(file) && /^#!.* node (.*)/.exec(readFileSync(file, 'utf8'))
  return found ? found[1].split(' ') : []
}
