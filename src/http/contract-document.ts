import { createHash } from 'node:crypto'
import { type PathLike, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Document } from './contract.ts'

const SOURCE = new URL('../../openapi.yaml', import.meta.url)
const GENERATED = new URL('contract.generated.json', import.meta.url)

/** What openapi.yaml said when `npm run generate` last read it. */
interface ReadBefore {
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly sha256: string
  readonly document: Document
}

/**
 * What openapi.yaml says. To read YAML takes 60 ms and 2 MB of the heap, so it is read only where the file is another one than the one
 * that was read before: whoever edits it sees the change at the next start.
 */
export function readDocument(source: PathLike = SOURCE, generated: PathLike = GENERATED): Document {
  const text = readFileSync(source, 'utf8')
  const before = readBefore(generated)
  return before?.sha256 === digest(text) ? before.document : parseDocument(text)
}

/** Undefined where the file is missing or broken: nothing depends on it but time. */
function readBefore(generated: PathLike): ReadBefore | undefined {
  try {
    return JSON.parse(readFileSync(generated, 'utf8')) as ReadBefore
  } catch {
    return undefined
  }
}

export function parseDocument(text: string): Document {
  const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
  return parse(text) as Document
}

/** The text of contract.generated.json. */
export function generatedContract(source: PathLike = SOURCE): string {
  const text = readFileSync(source, 'utf8')
  return `${JSON.stringify({ sha256: digest(text), document: parseDocument(text) } satisfies ReadBefore)}\n`
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
