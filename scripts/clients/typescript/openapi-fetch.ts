import createClient from 'openapi-fetch'
import { ACCEPT, ADDRESS, call, TOKEN } from './calls.ts'
import type { paths } from './client/schema.ts'

const JSON_TYPE = 'application/json;IEEE754Compatible=true'
const client = createClient<paths>({
  baseUrl: ADDRESS,
  // Openapi-fetch sends application/json where nothing else is set.
  headers: { ...ACCEPT, 'Content-Type': JSON_TYPE, Authorization: `Bearer ${TOKEN}` },
})
const resultOf = ({ response, data, error }: { response: Response; data?: unknown; error?: unknown }) => ({
  status: response.status,
  data: data ?? error,
})

await call({
  create: async (body, onlyNew) =>
    resultOf(await client.POST('/plants', { body, params: { header: onlyNew ? { 'If-None-Match': '*' } : {} } })),
  read: async (id) => resultOf(await client.GET('/plants/{id}', { params: { path: { id } } })),
  list: async () => resultOf(await client.GET('/plants')),
  replace: async (id, body) => resultOf(await client.PUT('/plants/{id}', { params: { path: { id } }, body })),
  export: async () => resultOf(await client.GET('/plants/export', { parseAs: 'text' })),
  import: async (body) =>
    resultOf(
      await client.POST('/plants/import', {
        body,
        bodySerializer: (file) => file,
        headers: { 'Content-Type': 'application/x-ndjson;IEEE754Compatible=true' },
      }),
    ),
})
