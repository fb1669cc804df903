import type { Command } from 'commander'

/**
 * The page of the manual in section 1, made of the commands: for each, its usage, options, notes and examples.
 *
 * @param date of the release, YYYY-MM-DD
 */
export function manPage(program: Command, version: string, date: string): string {
  const head = `.\\" Made of the commands of the program.
.TH PLANTSTORE 1 ${date} "Plantstore ${version}" "User Commands"
.ad l
.nh
.SH NAME
plantstore \\- ${escaped(program.description())}
.SH SYNOPSIS
.B plantstore
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
Every command finds its store by
.B \\-\\-store
or PLANTSTORE_STORE.
It reports faults on standard error, one per line.
.SH OPTIONS
${options(program)}
.SH COMMANDS
`
  const sections = commandsBelow(program, '').map(({ path, command }) => section(path, command))
  return `${head}${sections.join('')}.SH EXIT STATUS
0 done, 1 failed, 2 wrong usage; the section of a command has others.
.SH FILES
.TP
.I data/plants.db
the default store, in the working directory
.TP
.I .env
the default file of settings
`
}

function commandsBelow(parent: Command, path: string): readonly { readonly path: string; readonly command: Command }[] {
  return parent.commands
    .filter((command) => command.name() !== 'help')
    .flatMap((command) => {
      const own = `${path}${command.name()}`
      return [{ path: own, command }, ...commandsBelow(command, `${own} `)]
    })
}

function section(path: string, command: Command): string {
  return `.SS plantstore ${escaped(path)} ${escaped(command.usage())}
${escaped(command.description())}.
${options(command)}
${notes(command)}`
}

function options(command: Command): string {
  const help = command.createHelp()
  const given = help
    .visibleArguments(command)
    .map((each) => `.TP\n.I ${escaped(each.name())}\n${escaped(each.description)}`)
  const known = help
    .visibleOptions(command)
    .map((each) => `.TP\n.B ${escaped(each.flags)}\n${escaped(each.description)}`)
  return [...given, ...known].join('\n')
}

/** What the help of a command has behind its options. */
function notes(command: Command): string {
  const parts: string[] = []
  command.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp()
  const rest = parts.join('').slice(command.helpInformation().length).trim()
  return rest === '' ? '' : `.PP\n.nf\n${rest.split('\n').map(escaped).join('\n')}\n.fi\n`
}

/** A text without meaning for roff. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '\\[u2026]')
    .replaceAll(/^(?=[.'])/gm, '\\&')
}
