import { type ChangeLog, entryJson } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import { storeOf } from '../../domain/part-store.ts'
import { taggingOf } from '../../domain/plant-query.ts'
import { JSON_TYPE, jsonHeaders } from '../answer/responder.ts'
import type { ChangeStreams, ReadPage } from '../changes/change-streams.ts'
import { HttpError } from '../refusal.ts'
import type { Exchange } from '../request/exchange.ts'
import { preferredType } from '../request/head.ts'
import type { OperationParameters } from '../request/operations.generated.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { answerPage, arrayJson, linkTo, mustHaveLog, writePage } from './lists.ts'

type ChangesParameters = OperationParameters['listChanges']

const PATH = '/changes'
const STREAM_TYPE = 'text/event-stream'
/** A proxy must neither keep nor compress the stream, and nginx must not gather it. */
const STREAM_HEADERS = ['Cache-Control', 'no-store, no-transform', 'X-Accel-Buffering', 'no']
const NOW = 'now'

export function changeHandlers(parts: HandlerParts): Pick<Handlers, 'listChanges' | 'getHistory'> {
  const { responder, admission, streams } = parts
  const startOf = async (log: ChangeLog, after: string | undefined) => (after === NOW ? log.end() : after)

  function answerChanges(exchange: Exchange, log: ChangeLog, query: ChangesParameters): Promise<void> {
    const { after, limit, action } = query
    const tagging = taggingOf(query)
    const write = async (signal: AbortSignal) => {
      const { entries, next } = await log.read({ after: await startOf(log, after), limit, action, ...tagging }, signal)
      return { json: await arrayJson(entries, entryJson), next }
    }
    return admission.during('search', exchange, write).then(({ json, next }) => {
      const link = `<${linkTo(PATH, query, { after: next })}>; rel="next"`
      responder.reply(exchange, 200, jsonHeaders('no-store', 'Link', link), json)
    })
  }

  function stream(exchange: Exchange, log: ChangeLog, query: ChangesParameters, open: ChangeStreams): Promise<void> {
    const { after, 'Last-Event-ID': last = after } = query
    const tagging = { ...taggingOf(query), part: exchange.actor.part }
    if (query.action !== undefined) throw new AppError(40003, 'action works only without a stream')
    responder.mustHaveRoom()
    return admission.during('stream', exchange, async (signal) => {
      const read: ReadPage = (request) =>
        admission
          .during('search', exchange, (ending) => log.read(request, ending))
          .catch((error: unknown) => Promise.reject(withLink(error, query)))
      const events = open.events(await startOf(log, last), tagging, read, signal)
      await responder.stream(exchange, ['Content-Type', STREAM_TYPE, ...STREAM_HEADERS], events, signal, true)
    })
  }

  return {
    listChanges(exchange, query) {
      const log = mustHaveLog(storeOf(parts.store, exchange.actor))
      const type = preferredType(exchange.request.headers.accept, [JSON_TYPE, STREAM_TYPE])
      const answered =
        type === STREAM_TYPE && streams !== undefined
          ? stream(exchange, log, query, streams)
          : answerChanges(exchange, log, query)
      answered.catch((error: unknown) => responder.refuse(exchange, withLink(error, query)))
    },

    async getHistory(exchange, { id, limit, cursor }) {
      const log = mustHaveLog(storeOf(parts.store, exchange.actor))
      const path = `/plants/${id}/history`
      const page = await admission.during('search', exchange, async (signal) => {
        const found = await log.history(id, cursor, limit + 1, signal)
        return writePage(path, found, { limit }, entryJson, ({ position }) => position)
      })
      answerPage(responder, exchange, page)
    },
  }
}

/** Adds the link to the oldest entries to the refusal of a position that is gone. */
function withLink(error: unknown, query: ChangesParameters): unknown {
  if (!(error instanceof AppError && error.number === 41001)) return error
  return new HttpError(41001, error.message, { headers: { Link: `<${linkTo(PATH, query, {})}>; rel="first"` } })
}
