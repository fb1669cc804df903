// Checks that every link between pages of the project leads to an existing file and heading, and that the numbers of
// decisions have no hole. Does not check addresses.
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { filesOf, ROOT, report } from './repository.ts'

interface Link {
  readonly target: string
  readonly line: number
}

const pages = filesOf('**/*.md', '.github/**/*.md')
const anchors = new Map<string, Set<string>>()
const wrongLinks = pages.flatMap((page) =>
  linksOf(read(page)).flatMap(({ target, line }) => faultOf(page, target).map((fault) => `${page}:${line}: ${fault}`)),
)
const wrongNumbers = filesOf('docs/decisions/[0-9]*.md').filter((page, i, all) => {
  const number = posix.basename(page).slice(0, 4)
  return i > 0 && posix.basename(all[i - 1] ?? '').startsWith(number)
})
report(
  [...wrongLinks, ...wrongNumbers.map((page) => `${page}: another decision has this number`)],
  `the links of ${pages.length} pages lead somewhere, and no two decisions have one number`,
)

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/** Replaces code and comments by blanks, because they may hold texts that look like links or headings. */
function prose(markdown: string): string {
  const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ')
  return markdown
    .replaceAll(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\2 *$/gm, blank)
    .replaceAll(/<!--[\s\S]*?-->/g, blank)
    .replaceAll(/(`+)(?!`)[^\n]*?\1/g, blank)
}

/** Finds inline links and images, reference definitions, and addresses in HTML. */
function linksOf(markdown: string): Link[] {
  const text = prose(markdown)
  const forms = [/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g, /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm, /\b(?:href|src)="([^"]+)"/g]
  return forms.flatMap((form) =>
    [...text.matchAll(form)].map((match) => ({
      target: match[1] ?? '',
      line: text.slice(0, match.index).split('\n').length,
    })),
  )
}

function faultOf(page: string, target: string): string[] {
  if (/^[a-z][a-z+.-]*:/i.test(target)) return []
  if (target.startsWith('/')) return [`${target} is absolute; link from page to page`]
  const [path = '', anchor] = decodeURI(target).split('#')
  const found = path === '' ? page : posix.normalize(posix.join(posix.dirname(page), path))
  if (found.startsWith('..')) return [`${target} leads out of the project`]
  if (!existsSync(join(ROOT, found))) return [`${target} leads nowhere`]
  if (anchor === undefined || !found.endsWith('.md')) return []
  return anchorsOf(found).has(anchor) ? [] : [`${target}: ${found} has no heading #${anchor}`]
}

/** The anchors of a page's headings, by GitHub's rules. A repeated heading gets -1, -2, … */
function anchorsOf(page: string): Set<string> {
  const known = anchors.get(page)
  if (known !== undefined) return known
  const found = new Set<string>()
  const markdown = read(page).split('\n')
  const text = prose(read(page)).split('\n')
  for (const [i, line] of text.entries()) {
    // `text` tells headings from code that looks like one; the heading itself may have code.
    if (!/^#{1,6} /.test(line)) continue
    const slug = slugOf(markdown[i] ?? '')
    let unique = slug
    for (let n = 1; found.has(unique); n++) unique = `${slug}-${n}`
    found.add(unique)
  }
  anchors.set(page, found)
  return found
}

function slugOf(heading: string): string {
  const words = heading.replace(/^#+\s+/, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const kept = words
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc}\- ]/gu, '')
  return kept.replaceAll(' ', '-')
}
