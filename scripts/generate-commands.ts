import type { Command } from 'commander'
import { program } from '../src/cli/program.ts'

const INTRODUCTION = `# Commands

In the folder of the project, after \`npm ci\`, \`npx plantstore\` runs the program with the Node.js of the project.
\`npm start\` runs \`plantstore serve\` with the flags after \`--\`: \`npm start -- --port 9000\`. In any other folder, and for
a user without a home folder, which npm needs, \`/path/to/the/project/bin/plantstore\` runs the program.

Every command finds its store by \`--store\` or \`PLANTSTORE_STORE\`. It reports faults on standard error, one per line.
The exit code is 0 if the command succeeded, 1 if it failed, 2 if its arguments or settings are wrong, and 130 or 143 if
a signal stopped it; a section says where a command has others.
\`plantstore help COMMAND\` prints the section of a command with all of its options, and \`plantstore --version\` the
version; the flags of \`serve\` are in [Configuration](configuration.md).
`

/** Columns of the help on this page, whose lines are as long as those of the other pages. */
const WIDTH = 118
/** An option of so many commands stands once. */
const SHARED_BY = 2
/** What the introduction says of all commands. */
const USUAL_CODES = 'Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by a signal.'

interface Section {
  readonly path: string
  /** The help before its first option, its options, and what is behind them. */
  readonly head: string
  readonly options: readonly string[]
  readonly rest: string
}

/** The page of all commands, made of the help of each, so that the page agrees with the program. */
export function commandsPage(): string {
  const sections = commandsIn(program(), 'plantstore').map(sectionOf)
  const uses = Map.groupBy(
    sections.flatMap(({ options }) => options),
    (option) => option,
  )
  const shared = [...uses].filter(([, all]) => all.length >= SHARED_BY).map(([option]) => option)
  const isOwn = (option: string) => !shared.includes(option)
  const common = `## Options of several commands\n\n${inBlock(shared.join(''))}`
  return [INTRODUCTION, common, ...sections.map((section) => written(section, isOwn))].join('\n')
}

/** The commands that do something. What the help of a group says, such as `plantstore token`, its commands say too. */
function commandsIn(command: Command, path: string): readonly { readonly path: string; readonly command: Command }[] {
  const below = command.commands.filter((each) => each.name() !== 'help')
  if (below.length === 0) return [{ path, command }]
  return below.flatMap((each) => commandsIn(each, `${path} ${each.name()}`))
}

function sectionOf({ path, command }: { readonly path: string; readonly command: Command }): Section {
  const parts: string[] = []
  // The same column for the descriptions of all commands, so that an option has one form.
  const width = { helpWidth: WIDTH, padWidth: () => 24 }
  command
    .configureHelp(width)
    .configureOutput({ writeOut: (part) => void parts.push(part), getOutHelpWidth: () => WIDTH })
    .outputHelp()
  const help = parts.join('')
  // The settings of `serve` have a page of their own.
  const text = path === 'plantstore serve' ? help.replace(/^Addresses:\n.*?(?=^Options:)/ms, '') : help
  // The heading has the name of the command, and the list below it its arguments.
  const told = text.replace(/^Usage: .*\n\n/, '')
  const [head = '', behind = ''] = told.split(/^Options:\n/m)
  const [listed = ''] = /^(?: {2,}.*\n)*/.exec(behind) ?? []
  // An example of the name alone says what the heading says.
  const rest = behind.slice(listed.length).replace(`\n  ${path}\n`, '\n').replace(`\n${USUAL_CODES}\n`, '')
  return { path, head, options: listed.split(/^(?= {2}-)/m), rest: rest.replace(/\nExamples:\s*$/, '') }
}

function written({ path, head, options, rest }: Section, isOwn: (option: string) => boolean): string {
  const own = options.filter(isOwn).join('')
  const named = options.filter((option) => !isOwn(option)).flatMap((option) => /--[\w-]+/.exec(option) ?? [])
  const also = named.filter((name) => name !== '--help')
  const list = also.length === 0 ? '' : `  and ${also.join(', ')}\n`
  return `## ${path}\n\n${inBlock(`${head}${own || list ? `Options:\n${own}${list}` : ''}${rest}`)}`
}

const inBlock = (text: string): string => `\`\`\`text\n${text.replaceAll(/\n{3,}/g, '\n\n').trimEnd()}\n\`\`\`\n`
