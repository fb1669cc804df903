import { ACCEPT, ADDRESS, call, TOKEN } from './calls.ts'
import { client } from './client/client.gen.ts'
import { createPlant, exportPlants, getPlant, importPlants, listPlants, replacePlant } from './client/index.ts'

client.setConfig({ baseUrl: ADDRESS, auth: () => TOKEN, headers: ACCEPT })
const resultOf = ({ response, data, error }: { response?: Response; data?: unknown; error?: unknown }) => ({
  status: response?.status ?? 0,
  data: data ?? error,
})

await call({
  create: async (body, onlyNew) =>
    resultOf(await createPlant({ body, headers: onlyNew ? { 'If-None-Match': '*' } : {} })),
  read: async (id) => resultOf(await getPlant({ path: { id } })),
  list: async () => resultOf(await listPlants()),
  replace: async (id, body) => resultOf(await replacePlant({ path: { id }, body })),
  export: async () => resultOf(await exportPlants({ parseAs: 'text' })),
  import: async (body) => resultOf(await importPlants({ body, bodySerializer: (file) => file as string })),
})
