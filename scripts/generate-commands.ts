import { spawnSync } from 'node:child_process'
import { ROOT } from './repository.ts'

const INTRODUCTION = `# Commands

In the folder of the project, after \`npm ci\`, \`npx plantstore\` runs the program with the Node.js of the project.
\`npm start\` runs \`plantstore serve\` with the flags after \`--\`: \`npm start -- --port 9000\`. In any other folder, and for
a user without a home folder, which npm needs, \`/path/to/the/project/bin/plantstore\` runs the program.

Every command finds its store by \`--store\` or \`PLANTSTORE_STORE\`. It reports faults on standard error, one per line.
The exit code is 0 if the command succeeded, 1 if it failed, and 2 if its arguments or settings are wrong.
`

/** The page of all commands. The generator runs the program for the help of each, so the page agrees with it. */
export function commandsPage(): string {
  return [INTRODUCTION, ...sections([])].join('\n')
}

function sections(path: readonly string[]): string[] {
  const help = helpOf(path)
  const title = ['plantstore', ...path].join(' ')
  const section = `## ${title}\n\n\`\`\`text\n${help.trim()}\n\`\`\`\n`
  return [section, ...subcommands(help).flatMap((name) => sections([...path, name]))]
}

function helpOf(path: readonly string[]): string {
  const run = spawnSync(process.execPath, ['bin/plantstore.js', ...path, '--help'], { cwd: ROOT, encoding: 'utf8' })
  if (run.status !== 0) throw new Error(`${path.join(' ')} --help ended with ${run.status}: ${run.stderr}`)
  return run.stdout
}

function subcommands(help: string): string[] {
  const list = /^Commands:\n((?: {2}.*\n)+)/m.exec(help)?.[1] ?? ''
  return [...list.matchAll(/^ {2}(\w[\w-]*)/gm)].map((match) => match[1] ?? '').filter((name) => name !== 'help')
}
