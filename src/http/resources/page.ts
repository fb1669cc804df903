import { AppError } from '../../domain/errors.ts'
import { preferredType } from '../request/negotiation.ts'
import type { Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import { answerFile, readPage, type StaticFile } from './static-files.ts'

/** The handlers of the page at /. `npm run generate` builds its script from the sources in `web/src`. */
export function pageHandlers(responder: Responder, isOn: boolean): Pick<Handlers, 'getStart' | 'getPageFile'> {
  const files = isOn ? readPage('start') : new Map<string, StaticFile>()
  const start = files.get('index.html')
  return {
    getStart(exchange, { 'If-None-Match': tags }) {
      // A client that prefers no type is a program.
      const type = preferredType(exchange.request.headers.accept, ['application/json', 'text/html'])
      if (type === 'text/html' && start !== undefined) answerFile(responder, exchange, tags, start)
      else responder.reply(exchange, 303, ['Location', '/openapi.json'], '')
    },
    getPageFile(exchange, { file: name, 'If-None-Match': tags }) {
      const file = files.get(name)
      if (file === undefined) throw new AppError(40401, 'the page at / has no such file, or is switched off')
      answerFile(responder, exchange, tags, file)
    },
  }
}
