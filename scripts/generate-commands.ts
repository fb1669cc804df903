import { spawnSync } from 'node:child_process'
import { ROOT } from './repository.ts'

const INTRODUCTION = `# Commands

Inside the project's folder, after \`npm ci\`, \`npx plantstore\` runs the program with the Node.js that came with it;
\`npm start\` is \`plantstore serve\`, and passes on what stands behind \`--\`: \`npm start -- --port 9000\`. From any other
folder, and for a user without a home folder, which npm needs, \`/path/to/the/project/bin/plantstore\` does the same.

Every command finds its store by \`--store\` or \`PLANTSTORE_STORE\`. It reports faults on standard error, one a line. The
exit code is 0 when the command is done, 1 when it failed, and 2 after wrong usage.
`

/** The program's own help of each command: the generator runs it, so the page always agrees with it. */
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
