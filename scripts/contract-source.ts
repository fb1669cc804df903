import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ERRORS } from '../src/domain/errors.ts'
import type { Document } from '../src/http/request/operations.ts'
import { ROOT } from './repository.ts'

/** Reads openapi.yaml, and adds what each number of a refusal means. The program itself reads contract.generated.json, which the generator makes of it. */
export function readSource(text: string = readFileSync(join(ROOT, 'openapi.yaml'), 'utf8')): Document {
  return { ...(parse(text) as Document), 'x-errors': ERRORS } as Document
}

/** The text of contract.generated.json. */
export const generatedContract = (): string => `${JSON.stringify(readSource())}\n`
