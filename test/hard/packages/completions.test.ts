import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { completions } from '../../../scripts/package/completions.ts'
import { manPage } from '../../../scripts/package/man-page.ts'
import { program } from '../../../src/cli/program.ts'
import { tempFolder } from '../../support/files.ts'
import { notTestedHere, runs } from '../../support/not-tested.ts'

/** What a person has typed, and words that the shell offers for it. */
const OFFERED: readonly (readonly [typed: string, ...words: string[]])[] = [
  ['plantstore imp', 'import'],
  ['plantstore token ro', 'rotate'],
  ['plantstore --ver', '--version'],
  ['plantstore export --for', '--format', '--force'],
  ['plantstore export --format nd', 'ndjson'],
  ['plantstore import --mode up', 'update'],
  ['plantstore import --url http://127.0.0.1:8080 --dry', '--dry-run'],
  ['plantstore token create --sco', '--scopes'],
  ['plantstore import spr', 'spring.csv'],
  ['plantstore serve --config spr', 'spring.csv'],
]

/** A folder like /usr/share with the completions, in a folder with a file to import. */
function install(t: TestContext): string {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'spring.csv'), '')
  for (const [path, text] of Object.entries(completions(program()))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/** Asks a shell for completions by a script that takes the typed line. @returns the words that it prints */
function offeredBy(folder: string, shell: string, script: string, typed: string): readonly string[] {
  const { stdout, stderr } = spawnSync(shell, ['-c', script, shell, typed], { cwd: folder, encoding: 'utf8' })
  assert.equal(stderr, '')
  // Behind a word of zsh may be the rest of a control sequence.
  return stdout.split(/\s+/).map((word) => word.replace(/^\[[\d;?]*[A-Za-z]/, ''))
}

/** A script for each shell that prints what it offers. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `. bash-completion/completions/plantstore
compopt() { [ "$1" = +o ] && fallback=; }
read -ra COMP_WORDS <<< "$1"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); fallback=yes
_plantstore
[ \${#COMPREPLY[@]} = 0 ] && [ -n "$fallback" ] && COMPREPLY=($(compgen -f -- "\${COMP_WORDS[-1]}"))
echo "\${COMPREPLY[@]}"`,
  fish: `source fish/vendor_completions.d/plantstore.fish
complete -C "$argv[-1]" | string split -f 1 \\t`,
  // A shell of its own on a terminal, because the completion of zsh needs its editor. The marks are in no typed line.
  zsh: `zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1=; fpath=($PWD/zsh/site-functions \\$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w inner "mark() print -r -- @'marked'@; zle -N mark; bindkey '^X' mark; LISTMAX=1000; print -r -- @'ready'@"
zpty -r -m inner line '*@ready@*'
zpty -w -n inner "$1"$'\\t\\t\\x18'
zpty -r -m inner line '*@marked@*'
print -r -- "\${line//[^[:print:]]/ }"`,
}

suite('what shells offer', () => {
  for (const [shell, script] of Object.entries(SCRIPTS)) {
    test(`in ${shell}: commands, options, their values and files`, (t) => {
      if (!runs(shell, '--version')) return notTestedHere(t, `completions in ${shell}, which is not there`)
      const folder = install(t)
      for (const [typed, ...words] of OFFERED) {
        const offered = offeredBy(folder, shell, script, typed)
        for (const word of words) assert.ok(offered.includes(word), `${shell}: ${typed}: ${offered.join(' ')}`)
      }
    })
  }
})

test('the page of the manual has every command, and no fault', (t) => {
  const page = manPage(program(), '1.2.3', '2030-01-02')
  for (const each of program().commands)
    if (each.name() !== 'help') assert.ok(page.includes(`.SS plantstore ${each.name()}`))
  if (!runs('groff', '--version')) return notTestedHere(t, 'the page of the manual, as there is no groff')
  const { stdout, stderr } = spawnSync(
    'groff',
    ['-man', '-wmac', '-wescape', '-wmissing', '-Wbreak', '-Tutf8', '-Kutf8'],
    {
      input: page,
      encoding: 'utf8',
    },
  )
  assert.equal(stderr, '')
  assert.match(stdout, /--columns/)
})
