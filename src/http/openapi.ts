import { readFileSync } from 'node:fs'
import type { Document } from './operations.ts'

/** What openapi.yaml says, as `npm run generate` wrote it; `npm run check` fails where the two differ. */
export function readDocument(): Document {
  return JSON.parse(readFileSync(new URL('contract.generated.json', import.meta.url), 'utf8')) as Document
}
