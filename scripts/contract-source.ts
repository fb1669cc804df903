import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Document } from '../src/http/request/operations.ts'
import { ROOT } from './repository.ts'

/** Reads openapi.yaml. The program itself reads contract.generated.json, which the generator makes of it. */
export function readSource(text: string = readFileSync(join(ROOT, 'openapi.yaml'), 'utf8')): Document {
  return parse(text) as Document
}

/** The text of contract.generated.json. */
export const generatedContract = (): string => `${JSON.stringify(readSource())}\n`
