import { AppError } from '../../domain/errors.ts'
import type { Contract } from '../operations.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import { answerFile, readPage, type StaticFile, staticFile } from './static-files.ts'

/**
 * The handlers of the contract as JSON, and of the page that shows it.
 *
 * @param hasPage false: the service answers 404 for the page and its files
 */
export function docsHandlers(
  contract: Contract,
  responder: Responder,
  hasPage: boolean,
): Pick<Handlers, 'getContract' | 'getDocs' | 'getDocsFile'> {
  const files = hasPage ? readPage('docs') : new Map<string, StaticFile>()
  const document = staticFile(Buffer.from(JSON.stringify(contract.document)), JSON_TYPE, [])
  const fileOf = (name: string): StaticFile => {
    const file = files.get(name)
    if (file === undefined) throw new AppError(40401, 'the page at /docs has no such file, or is switched off')
    return file
  }
  return {
    getContract: (exchange, { 'If-None-Match': tags }) => answerFile(responder, exchange, tags, document),
    getDocs: (exchange, { 'If-None-Match': tags }) => answerFile(responder, exchange, tags, fileOf('index.html')),
    getDocsFile: (exchange, { file, 'If-None-Match': tags }) => answerFile(responder, exchange, tags, fileOf(file)),
  }
}
