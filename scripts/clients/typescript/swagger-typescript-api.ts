import { ADDRESS, call, type Result, TOKEN } from './calls.ts'
import { Api } from './client/client.ts'

const api = new Api({
  baseUrl: `${ADDRESS}/text-ids`,
  baseApiParams: { headers: { Authorization: `Bearer ${TOKEN}` } },
})
/** The client throws the answer of a refusal. */
const resultOf = (sent: Promise<{ readonly status: number; readonly data: unknown }>): Promise<Result> =>
  sent.catch(({ status, error }: { readonly status: number; readonly error: unknown }) => ({ status, data: error }))

await call({
  create: (plant, onlyNew) =>
    resultOf(api.plants.createPlant(plant, onlyNew ? { headers: { 'If-None-Match': '*' } } : {})),
  read: (id) => resultOf(api.plants.getPlant(id, { format: 'json' })),
  list: () => resultOf(api.plants.listPlants()),
  replace: (id, plant) => resultOf(api.plants.replacePlant(id, plant, { format: 'json' })),
  export: () => resultOf(api.plants.exportPlants({}, { format: 'text' })),
  import: (file) => resultOf(api.plants.importPlants(file)),
})
