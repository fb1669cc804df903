import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** A fenced code block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  /** The line in the page, from 1. */
  readonly line: number
  /** The reason not to run it, from the comment before it. */
  readonly notRun: string | undefined
  /** The next block, if it shows the output. */
  readonly prints: string | undefined
}

const FENCE = /^(?:<!-- not run: (.+?) -->\n)?^```(\w+)\n(.*?)^```$/gms
const OUTPUTS: readonly string[] = ['text', 'json', 'http']

/** The blocks of a page of the project, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  const found = [...text.matchAll(FENCE)]
  const fences = text.match(/^ *```/gm)?.length ?? 0
  if (fences !== 2 * found.length) throw new Error(`${page} has a block without a language, or one that is set in`)
  return found.map((match, i) => {
    const [whole, notRun, language = '', content = ''] = match
    const next = found[i + 1]
    const isNext = next !== undefined && text.slice(match.index + whole.length, next.index).trim() === ''
    return {
      language,
      text: content,
      line: text.slice(0, match.index).split('\n').length,
      notRun,
      prints: isNext && OUTPUTS.includes(next[2] ?? '') ? next[3] : undefined,
    }
  })
}

/** The first block of a page in this language. */
export const blockIn = (page: string, language: string): string =>
  blocksOf(page).find((block) => block.language === language)?.text ?? ''

/** The Node.js that readers have: the one of the machine, which runs npm, and not the one that `npm ci` installs. */
export function machineNode(): string {
  const own = dirname(process.execPath)
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = folders.filter((folder) => folder !== own && !folder.includes('node_modules'))
  return found.map((folder) => join(folder, 'node')).find((path) => existsSync(path)) ?? process.execPath
}
