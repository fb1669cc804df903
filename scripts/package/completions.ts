import type { Command, Option } from 'commander'
import type { ProgramCommand } from '../../src/cli/command.ts'

/** A command with its place behind `plantstore`, such as ` token create`; empty for the program itself. */
interface Place {
  readonly path: string
  readonly command: Command
}

/** The files of completions for bash, zsh and fish, by their paths below a `share` of the system. */
export function completions(program: Command): Readonly<Record<string, string>> {
  const places = placesIn(program, '')
  return {
    'bash-completion/completions/plantstore': bash(places),
    'zsh/site-functions/_plantstore': zsh(places),
    'fish/vendor_completions.d/plantstore.fish': fish(places),
  }
}

function placesIn(command: Command, path: string): readonly Place[] {
  return [{ path, command }, ...command.commands.flatMap((each) => placesIn(each, `${path} ${each.name()}`))]
}

/** All options of a command, with those for its help and version. */
const optionsOf = (command: Command): readonly Option[] => command.createHelp().visibleOptions(command)

const namesOf = (option: Option): readonly string[] => [option.short, option.long].filter((name) => name !== undefined)

const choicesOf = ({ command }: Place, option: Option): readonly string[] =>
  (command as ProgramCommand).choices.get(option.long ?? '') ?? []

/** Whether the value of an option is a file or a folder. */
const takesFile = ({ flags }: Option): boolean => /<(?:FILE|FOLDER)>/.test(flags)

const takesValue = ({ flags }: Option): boolean => flags.includes('<')

/** Whether a command takes a file, and not an id. */
const takesPath = ({ command }: Place): boolean => command.registeredArguments.some((each) => each.name() === 'file')

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function bash(places: readonly Place[]): string {
  const values = places.flatMap((place) =>
    optionsOf(place.command)
      .filter(takesValue)
      .map((option) => {
        const words = choicesOf(place, option)
        const pattern = namesOf(option)
          .map((name) => quoted(`${place.path} ${name}`))
          .join('|')
        if (words.length > 0)
          return `    ${pattern}) COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$cur")); return ;;`
        return takesFile(option) ? `    ${pattern}) return ;;` : `    ${pattern}) compopt +o default; return ;;`
      }),
  )
  const words = places.map((place) => {
    const options = optionsOf(place.command).flatMap(namesOf).join(' ')
    const commands = place.command.commands.map((each) => each.name()).join(' ')
    return `    ${quoted(place.path)}) options=${quoted(options)} commands=${quoted(commands)} ;;`
  })
  const paths = places
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(path))
    .join('|')
  return `# Completions of plantstore for bash, made of its commands.
_plantstore() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' options='' commands='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${paths}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path \${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
  esac
  case $path in
${words.join('\n')}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    compopt +o default
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  fi
}
complete -o default -F _plantstore plantstore
`
}

function zsh(places: readonly Place[]): string {
  const functions = places.map((place) => {
    const { command, path } = place
    const specs = optionsOf(command).map((option) => {
      const words = choicesOf(place, option)
      const action = words.length > 0 ? `(${words.join(' ')})` : takesFile(option) ? '_files' : ' '
      const value = takesValue(option) ? `:value:${action}` : ''
      const names = namesOf(option)
      const head = names.length > 1 ? `{${names.join(',')}}` : `${names[0]}`
      return `${head}${quoted(`[${brief(option.description).replaceAll(/[[\]]/g, '\\$&')}]${value}`)}`
    })
    const commands = command.commands.map((each) =>
      quoted(`${each.name()}:${brief(each.description()).replaceAll(':', '\\:')}`),
    )
    const rest =
      commands.length > 0 ? ["'1: :->command'", "'*:: :->rest'"] : takesPath(place) ? ["'*:file:_files'"] : []
    const below = command.commands.map((each) => `        ${each.name()}) ${nameOf(`${path} ${each.name()}`)} ;;`)
    const states =
      commands.length === 0
        ? ''
        : `
  case $state in
    command)
      local -a commands=(${commands.join(' ')})
      _describe command commands
      ;;
    rest)
      case $words[1] in
${below.join('\n')}
      esac
      ;;
  esac`
    return `${nameOf(path)}() {
  local state line
  typeset -A opt_args
  _arguments -C ${[...specs, ...rest].join(' \\\n    ')}${states}
}
`
  })
  return `#compdef plantstore
# Completions of plantstore for zsh, made of its commands.
${functions.join('\n')}
_plantstore "$@"
`
}

/** The name of the function for a place. */
const nameOf = (path: string): string => `_plantstore${path.replaceAll(' ', '_')}`

/** A description in one line of a menu: up to its first bracket or semicolon. */
const brief = (text: string): string => (/^[^(;]*/.exec(text)?.[0] ?? '').replaceAll(/\s+/g, ' ').trim()

function fish(places: readonly Place[]): string {
  const paths = places
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(path))
    .join(' ')
  const lines = places.flatMap((place) => {
    const at = `-c plantstore -n ${quoted(`__plantstore_at "${place.path}"`)}`
    const options = optionsOf(place.command).map((option) => {
      const names = [
        ...(option.short === undefined ? [] : ['-s', option.short.slice(1)]),
        ...(option.long === undefined ? [] : ['-l', option.long.slice(2)]),
      ]
      const words = choicesOf(place, option)
      const value = !takesValue(option)
        ? []
        : takesFile(option)
          ? ['-rF']
          : words.length > 0
            ? ['-x', '-a', quoted(words.join(' '))]
            : ['-x']
      return `complete ${at} ${[...names, ...value].join(' ')} -d ${fishQuoted(brief(option.description))}`
    })
    const commands = place.command.commands.map(
      (each) => `complete ${at} -f -a ${each.name()} -d ${fishQuoted(brief(each.description()))}`,
    )
    return [...(takesPath(place) ? [] : [`complete ${at} -f`]), ...commands, ...options]
  })
  return `# Completions of plantstore for fish, made of its commands.
function __plantstore_at
    set -l path ''
    for word in (commandline -opc)[2..]
        if contains -- "$path $word" ${paths}
            set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end
${lines.join('\n')}
`
}

const fishQuoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`
