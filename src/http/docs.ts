import { readFile } from 'node:fs/promises'
import { AppError } from '../errors.ts'
import type { Contract } from './contract.ts'
import { JSON_TYPE, type Responder } from './responder.ts'
import type { Handlers } from './routes.ts'

/** Swagger UI, as the package ships it; nothing of the page comes from elsewhere, and its policy forbids it. */
const ASSETS = new URL('static/', import.meta.resolve('@fastify/swagger-ui'))
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const SAFE = ['Content-Security-Policy', POLICY, 'X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-cache']

const PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plantstore API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="data:,">
</head>
<body>
<div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`
const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#page', validatorUrl: null, deepLinking: true })\n`

const FILES: Readonly<Record<string, { type: string; read: () => Promise<string> }>> = {
  'start.js': { type: 'text/javascript; charset=utf-8', read: async () => START },
  'swagger-ui-bundle.js': { type: 'text/javascript; charset=utf-8', read: () => asset('swagger-ui-bundle.js') },
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: () => asset('swagger-ui.css') },
}

const asset = (name: string): Promise<string> => readFile(new URL(name, ASSETS), 'utf8')

/** The contract, as JSON and as a page. */
export function docsHandlers(
  contract: Contract,
  responder: Responder,
): Pick<Handlers, 'getContract' | 'getDocs' | 'getDocsFile'> {
  const json = JSON.stringify(contract.document)
  return {
    getContract(exchange) {
      responder.reply(exchange, 200, ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-cache'], json)
    },
    getDocs(exchange) {
      responder.reply(exchange, 200, ['Content-Type', 'text/html; charset=utf-8', ...SAFE], PAGE)
    },
    getDocsFile(exchange) {
      const { file: name = '' } = exchange.pathParameters
      const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined
      if (file === undefined) throw new AppError(40401, 'the page has no such file')
      file.read().then(
        (text) => responder.reply(exchange, 200, ['Content-Type', file.type, ...SAFE], text),
        (error: unknown) => responder.refuse(exchange, error),
      )
    },
  }
}
