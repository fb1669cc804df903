import type { Command, Option } from 'commander'
import { OperatorError } from '../operator-error.ts'
import { Choice } from './command.ts'
import { SHELLS, type Shell } from './completion-shells.ts'

/** A command, with its possible next words. */
interface Completed {
  /** The words of the command, such as `token create`; empty for the program itself. */
  readonly path: string
  readonly subcommands: readonly Described[]
  readonly options: readonly CompletedOption[]
}

interface Described {
  readonly name: string
  readonly about: string
}

interface CompletedOption extends Described {
  readonly value: 'none' | 'file' | 'text' | readonly string[]
}

/**
 * Returns a script that makes a shell complete the commands of the program and their flags.
 *
 * @throws OperatorError (exit code 2) for an unknown shell
 */
export function completionScript(root: Command, shell: string): string {
  const commands = commandsIn(root, [])
  const write = { bash, zsh, fish }[shell as Shell]
  if (write === undefined) {
    throw new OperatorError(`"${shell}" is not one of ${SHELLS.join(', ')}`, { exitCode: 2 })
  }
  return write(commands)
}

function commandsIn(command: Command, path: readonly string[]): Completed[] {
  const subcommands = command.commands.map((each) => ({ name: each.name(), about: each.description() }))
  const options = command.options.map(completed).concat({ name: '--help', about: 'show the usage', value: 'none' })
  const own = { path: path.join(' '), subcommands, options }
  return [own, ...command.commands.flatMap((each) => commandsIn(each, [...path, each.name()]))]
}

function completed(option: Option): CompletedOption {
  const about = option.description.replaceAll(/\s+/g, ' ').slice(0, 70)
  const name = option.long ?? option.flags
  if (option instanceof Choice) return { name, about, value: option.values }
  if (!option.required) return { name, about, value: 'none' }
  return { name, about, value: /<(?:FILE|FOLDER)>/.test(option.flags) ? 'file' : 'text' }
}

/** Returns shell code that finds the command among the words before the cursor, for bash and zsh. */
function pathFinder(commands: readonly Completed[], words: string): string {
  const cases = commands
    .filter(({ path }) => path !== '')
    .map(({ path }) => `      "${path.includes(' ') ? path : ` ${path}`}") path="${path}" ;;`)
  return `  local path="" word
  for word in ${words}; do
    case "$path $word" in
${cases.join('\n')}
    esac
  done`
}

function bash(commands: readonly Completed[]): string {
  const values = commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== 'none')
      .map(({ name, value }) => {
        const reply = value === 'file' ? '-f' : typeof value === 'string' ? undefined : `-W "${value.join(' ')}"`
        const action = reply === undefined ? 'COMPREPLY=()' : `COMPREPLY=($(compgen ${reply} -- "$cur"))`
        return `    "${path}:${name}") ${action}; return ;;`
      }),
  )
  const names = commands.map(({ path, subcommands, options }) => {
    const all = [...subcommands, ...options].map(({ name }) => name).join(' ')
    return `    "${path}") names="${all}" ;;`
  })
  return `# bash completion of plantstore
_plantstore() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" names=""
${pathFinder(commands, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$path:$prev" in
${values.join('\n')}
  esac
  case "$path" in
${names.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$names" -- "$cur"))
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _plantstore plantstore
`
}

const inQuotes = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function zsh(commands: readonly Completed[]): string {
  const described = ({ name, about }: Described) => inQuotes(`${name.replaceAll(':', '\\:')}:${about}`)
  const values = commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== 'none')
      .map(({ name, value }) => {
        const action =
          value === 'file' ? '_files' : typeof value === 'string' ? '_message value' : `compadd ${value.join(' ')}`
        return `    "${path}:${name}") ${action}; return ;;`
      }),
  )
  const names = commands.map(({ path, subcommands, options }) => {
    const rest = subcommands.length > 0 ? `names=(${subcommands.map(described).join(' ')})` : '_files; return'
    return `    "${path}")
      if [[ $PREFIX == -* ]]; then names=(${options.map(described).join(' ')}); else ${rest}; fi ;;`
  })
  return `#compdef plantstore
_plantstore() {
  local -a names
${pathFinder(commands, `\${words[2,CURRENT-1]}`)}
  case "$path:\${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$path" in
${names.join('\n')}
  esac
  _describe plantstore names
}
compdef _plantstore plantstore
`
}

function fish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ path, subcommands, options }) => {
    const seen = path.split(' ').filter((word) => word !== '')
    const inside = seen.map((word) => `__fish_seen_subcommand_from ${word}`)
    const outside =
      subcommands.length > 0 ? [`not __fish_seen_subcommand_from ${subcommands.map(({ name }) => name).join(' ')}`] : []
    const when = inQuotes([...inside, ...outside].join('; and '))
    return [
      ...subcommands.map(({ name, about }) => `complete -c plantstore -f -n ${when} -a ${name} -d ${inQuotes(about)}`),
      ...options.map(({ name, about, value }) => {
        const taken =
          value === 'none'
            ? ''
            : value === 'file'
              ? ' -r'
              : typeof value === 'string'
                ? ' -x'
                : ` -x -a ${inQuotes(value.join(' '))}`
        return `complete -c plantstore -n ${when} -l ${name.slice(2)}${taken} -d ${inQuotes(about)}`
      }),
    ]
  })
  return `# fish completion of plantstore\n${lines.join('\n')}\n`
}
