import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../../scripts/repository.ts'
import { cleanUp } from './clean-up.ts'
import { tempFolder } from './files.ts'
import { freePort } from './free-port.ts'
import { type Block, blocksOf, machineNode } from './guide.ts'

/** Who follows a page, and what they have. */
export interface Reader {
  /** The lines that the reader runs before the page. */
  readonly before?: string
  /** The placeholders of the page, and their values in the test. */
  readonly own?: Readonly<Record<string, string>>
  /** A service user has no home, so npx, which needs one, does not work. */
  readonly isServiceUser?: true
}

/**
 * Follows a page: runs the lines of its shell blocks in order, in one shell and one folder. The first line that fails
 * ends them. A service runs in the background, as in a terminal of its own, until the test ends.
 *
 * @returns their output
 */
export async function follow(t: TestContext, page: string, reader: Reader): Promise<string> {
  const blocks = blocksOf(page).filter(({ language, notRun }) => language === 'sh' && notRun === undefined)
  const script = blocks.map(
    ({ text }, i) => `echo; echo "@begin ${i}"\nset -e\n${text}\nset +e; echo; echo "@end ${i}"`,
  )
  const { stdout, code } = await runAsReader(t, script.join('\n'), reader)
  for (const [i, block] of blocks.entries()) check(page, block, i, stdout)
  assert.equal(code, 0, stdout)
  return stdout
}

/** Runs lines in a new folder, with a free port instead of 8080. @returns their output */
async function runAsReader(
  t: TestContext,
  script: string,
  { before = '', own = {}, isServiceUser }: Reader,
): Promise<{ readonly stdout: string; readonly code: number | null }> {
  const [folder, port, otherPort] = [tempFolder(t), await freePort(), await freePort()]
  const commands = join(folder, 'commands')
  mkdirSync(commands)
  // Its progress would be in the middle of its output.
  writeFileSync(join(folder, '.curlrc'), 'silent\nshow-error\n')
  for (const [name, script] of Object.entries(scripts(folder, isServiceUser === true))) {
    writeFileSync(join(commands, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(commands, name), 0o755)
  }
  const replaced: Readonly<Record<string, string>> = {
    'npm ci && npm start': 'start-service',
    '/opt/plantstore/bin/plantstore serve': 'start-service',
    'npx plantstore serve': 'start-service',
    '/opt/plantstore': ROOT.replace(/\/$/, ''),
    '/var/lib/plantstore': `${folder}/state`,
    '/backup': `${folder}/backup`,
    '127.0.0.1:8080': `127.0.0.1:${port}`,
    '127.0.0.1:9090': `127.0.0.1:${otherPort}`,
    ...own,
  }
  const here = replaceAll(`${before}\n${script}`, replaced)
  cleanUp(t, () => stopServices(folder))
  return shell(here, folder, {
    PATH: `${commands}:${process.env['PATH']}`,
    HOME: isServiceUser === true ? join(folder, 'no-home') : folder,
    CURL_HOME: folder,
    PLANTSTORE_PORT: String(port),
    OTHER_PORT: String(otherPort),
  })
}

/** Runs lines that must not fail. @returns their output */
export async function succeed(t: TestContext, script: string, reader: Reader): Promise<string> {
  const { stdout, code } = await runAsReader(t, `set -e\n${script}`, reader)
  assert.equal(code, 0, stdout)
  return stdout
}

/** In one go, and never inside a name: the folder of the project may itself be called backup. */
function replaceAll(text: string, replaced: Readonly<Record<string, string>>): string {
  const longestFirst = Object.keys(replaced).sort((a, b) => b.length - a.length)
  const pattern = new RegExp(`(?<!\\w)(?:${longestFirst.map((each) => RegExp.escape(each)).join('|')})`, 'g')
  return text.replace(pattern, (found) => replaced[found] ?? found)
}

/** Checks that a block ran to its end, and that its output has the lines of the page, except for parts that vary. */
function check(page: string, { line, prints }: Block, i: number, stdout: string): void {
  const [, printed, end] = new RegExp(`^@begin ${i}\\n(.*?)(?:^@end (${i})$|$(?![\\s\\S]))`, 'ms').exec(stdout) ?? []
  const where = `${page}:${line}:\n${printed}`
  assert.equal(end, String(i), `a line of this block fails: ${where}`)
  const shown = prints?.split('\n').filter((each) => FIXED.test(each)) ?? []
  const unfolded = printed?.replaceAll('\r', '')
  for (const each of shown) assert.ok(unfolded?.includes(each), `${where}\nhas no ${each}`)
}

/** Lines that every reader gets as the page shows them. */
const FIXED = /^(?:[{[]|HTTP\/|ETag: |Link: |line \d+: |Some rows )/

/** The commands that the lines of a guide find, beside those of the system. */
function scripts(folder: string, isServiceUser: boolean): Readonly<Record<string, string>> {
  const program = `"${process.execPath}" "${ROOT}bin/plantstore.js"`
  const serve = (port: string) => `log=$(mktemp "${folder}/log-XXXXXX")
${program} serve --port ${port} "$@" > "$log" 2>&1 &
echo $! >> "${folder}/services"
until grep -q 'curl -X POST' "$log"; do kill -0 $! || { cat "$log"; exit 1; }; sleep 0.1; done
cat "$log"`
  return {
    'start-service': serve('"$PLANTSTORE_PORT"'),
    'start-other-service': serve('"$OTHER_PORT"'),
    // What npx does in the project's folder.
    ...(isServiceUser ? {} : { npx: `shift; exec ${program} "$@"`, node: `exec "${machineNode()}" "$@"` }),
    'make-plants': `cat "${folder}/made.ndjson"`,
  }
}

async function shell(script: string, cwd: string, env: Readonly<Record<string, string>>) {
  const child = spawn('sh', ['-s'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const closed = once(child, 'close')
  child.stdin.end(`exec 2>&1\n${script}\n`)
  const stdout = await text(child.stdout)
  const [code] = await closed
  return { stdout, code: code as number | null }
}

async function stopServices(folder: string): Promise<void> {
  const list = join(folder, 'services')
  const ids = existsSync(list) ? readFileSync(list, 'utf8').trim().split('\n').map(Number) : []
  for (const id of ids) if (isRunning(id)) process.kill(id, 'SIGKILL')
  while (ids.some(isRunning)) await sleep(20)
}

function isRunning(id: number): boolean {
  try {
    return process.kill(id, 0)
  } catch {
    return false
  }
}

export const heredoc = (file: string, content: string): string => `cat > ${file} <<'END'\n${content}\nEND\n`
